#include "handlers/calls_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "executors/deadline.h"

/* While the graph is built. */
struct builder {
	const struct calls_request *request;
	struct calls_violation *violation;
	uint32_t *slots; /* a hash table of the ids: places in the list, from 1; 0: free */
	unsigned bits;   /* there are 2^bits of them */
	uint64_t seed;
	uint32_t *needs;   /* what the calls wait for, in the order of the list and of dependsOn */
	uint32_t *open;    /* of each call: how many of those remain, while cycles are looked for */
	uint32_t *scratch; /* of each call */
	size_t edges;
	struct calls_graph graph;
};

/* FNV-1a with a seed of its own for each list: who sends them cannot know which ids collide. */
static size_t slot_of(const struct builder *builder, const char *id)
{
	uint64_t hash = builder->seed;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * UINT64_C(1099511628211);
	return (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - builder->bits));
}

/* Where @id is, or belongs. */
static uint32_t *find_slot(const struct builder *builder, const char *id)
{
	size_t mask = ((size_t)1 << builder->bits) - 1, at = slot_of(builder, id);

	while (builder->slots[at] > 0 &&
	       strcmp(builder->request->entries[builder->slots[at] - 1].id, id) != 0)
		at = (at + 1) & mask;
	return &builder->slots[at];
}

static int add_ids(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->request->count; i++) {
		uint32_t *slot = find_slot(builder, builder->request->entries[i].id);

		if (*slot > 0) {
			calls_violation_in_call(builder->violation, i, "id");
			return calls_violate(builder->violation,
			                     "is the id of an earlier call, too");
		}
		*slot = i + 1;
	}
	return 0;
}

/* A table that is half empty at least. */
static int make_table(struct builder *builder)
{
	builder->bits = 1;
	while ((size_t)1 << builder->bits < 2 * builder->request->count)
		builder->bits++;
	builder->slots = calloc((size_t)1 << builder->bits, sizeof(*builder->slots));
	if (!builder->slots)
		return -ENOMEM;
	builder->seed = (uint64_t)deadline_now_ns() ^ (uint64_t)(uintptr_t)builder->slots << 16;
	return add_ids(builder);
}

static int refuse_need(const struct builder *builder, size_t index, size_t at, const char *fault)
{
	calls_violation_in_call(builder->violation, index, "dependsOn");
	json_pointer_add_element(&builder->violation->pointer, at);
	return calls_violate(builder->violation, "%s", fault);
}

/* List what call @index waits for, from @needs on. The scratch of a call says who named it last. */
static int find_needs(const struct builder *builder, size_t index, uint32_t *needs)
{
	const struct calls_request *request = builder->request;
	const json_t *ids = request->entries[index].depends_on, *id;
	size_t at;

	json_array_foreach(ids, at, id)
	{
		uint32_t slot = *find_slot(builder, json_string_value(id));
		size_t found = (size_t)slot - 1;

		if (slot == 0)
			return refuse_need(builder, index, at, "is not the id of a call");
		if (found == index)
			return refuse_need(builder, index, at, "is the call itself");
		if (builder->scratch[found] == index + 1)
			return refuse_need(builder, index, at, "is given twice");
		builder->scratch[found] = (uint32_t)index + 1;
		needs[at] = (uint32_t)found;
	}
	return 0;
}

static int find_all_needs(struct builder *builder)
{
	const struct calls_request *request = builder->request;
	uint32_t *needs = builder->needs;

	memset(builder->scratch, 0, request->count * sizeof(*builder->scratch));
	for (size_t i = 0; i < request->count; i++) {
		int error = find_needs(builder, i, needs);

		if (error)
			return error;
		builder->graph.waits_for[i] =
			(uint32_t)json_array_size(request->entries[i].depends_on);
		needs += builder->graph.waits_for[i];
	}
	return 0;
}

/* From what each call waits for, who waits for each: a counting sort. */
static void turn_around(struct builder *builder)
{
	size_t count = builder->request->count;
	struct calls_graph *graph = &builder->graph;
	const uint32_t *needs = builder->needs;

	memset(graph->first, 0, (count + 1) * sizeof(*graph->first));
	for (size_t i = 0; i < builder->edges; i++)
		graph->first[needs[i] + 1]++;
	for (size_t i = 0; i < count; i++)
		graph->first[i + 1] += graph->first[i];
	memcpy(builder->scratch, graph->first, count * sizeof(*builder->scratch));
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < graph->waits_for[i]; k++)
			graph->dependents[builder->scratch[*needs++]++] = (uint32_t)i;
}

/* Where what call @index waits for begins in @needs. */
static const uint32_t *needs_of(const struct builder *builder, size_t index)
{
	const uint32_t *needs = builder->needs;

	for (size_t i = 0; i < index; i++)
		needs += builder->graph.waits_for[i];
	return needs;
}

/* One of those that remain waits for another that remains; as often as there are calls, and the
 * walk is on a cycle, whatever lay before it. */
static int refuse_cycle(struct builder *builder)
{
	uint32_t at = 0;

	while (builder->open[at] == 0)
		at++;
	for (size_t step = 0; step < builder->request->count; step++) {
		const uint32_t *needs = needs_of(builder, at);

		while (builder->open[*needs] == 0)
			needs++;
		at = *needs;
	}
	calls_violation_in_call(builder->violation, at, "dependsOn");
	return calls_violate(builder->violation, "the call waits for itself, by way of others");
}

/* Take away what waits for nothing until nothing is left, or a cycle (Kahn, 1962). */
static int refuse_cycles(struct builder *builder)
{
	size_t count = builder->request->count, taken = 0, ready = 0;
	const struct calls_graph *graph = &builder->graph;
	uint32_t *queue = builder->scratch;

	memcpy(builder->open, graph->waits_for, count * sizeof(*builder->open));
	for (size_t i = 0; i < count; i++)
		if (builder->open[i] == 0)
			queue[ready++] = (uint32_t)i;
	for (; taken < ready; taken++) {
		uint32_t done = queue[taken];

		for (uint32_t k = graph->first[done]; k < graph->first[done + 1]; k++)
			if (--builder->open[graph->dependents[k]] == 0)
				queue[ready++] = graph->dependents[k];
	}
	return taken == count ? 0 : refuse_cycle(builder);
}

static size_t count_edges(const struct calls_request *request)
{
	size_t edges = 0;

	for (size_t i = 0; i < request->count; i++)
		edges += json_array_size(request->entries[i].depends_on);
	return edges;
}

static int build_edges(struct builder *builder)
{
	size_t count = builder->request->count, edges = builder->edges;
	struct calls_graph *graph = &builder->graph;
	uint32_t *numbers = malloc((2 * count + 1 + edges) * sizeof(*numbers));
	uint32_t *others = malloc((2 * count + edges) * sizeof(*others));
	int error = -ENOMEM;

	*graph = (struct calls_graph){.waits_for = numbers};
	if (numbers && others) {
		graph->first = numbers + count;
		graph->dependents = graph->first + count + 1;
		builder->open = others;
		builder->scratch = others + count;
		builder->needs = builder->scratch + count;
		error = find_all_needs(builder);
	}
	if (!error) {
		turn_around(builder);
		error = refuse_cycles(builder);
	}
	free(others);
	if (error)
		calls_graph_finish(graph);
	return error;
}

int calls_graph_build(const struct calls_request *request, struct calls_graph *out,
                      struct calls_violation *violation)
{
	struct builder builder = {
		.request = request,
		.violation = violation,
		.edges = count_edges(request),
	};
	int error = make_table(&builder);

	if (!error && builder.edges > 0)
		error = build_edges(&builder);
	free(builder.slots);
	if (!error)
		*out = builder.graph;
	return error;
}

void calls_graph_finish(struct calls_graph *graph)
{
	free(graph->waits_for);
	*graph = (struct calls_graph){0};
}
