#include "handlers/calls_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* While the graph is built. */
struct builder {
	const struct calls_request *request;
	struct calls_violation *violation;
	uint32_t *by_id;   /* the calls, sorted by their ids */
	uint32_t *needs;   /* what the calls wait for, in the order of the list and of dependsOn */
	uint32_t *open;    /* of each call: how many of those remain, while cycles are looked for */
	uint32_t *scratch; /* of each call */
	size_t edges;
	struct calls_graph graph;
};

static int compare_ids(const void *left, const void *right, void *entries)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct calls_entry *all = entries;
	int order = strcmp(all[a].id, all[b].id);

	/* Of two that are the same the later one is at fault. */
	return order != 0 ? order : (a > b) - (a < b);
}

static int sort_ids(struct builder *builder)
{
	const struct calls_request *request = builder->request;

	for (uint32_t i = 0; i < request->count; i++)
		builder->by_id[i] = i;
	qsort_r(builder->by_id, request->count, sizeof(*builder->by_id), compare_ids,
	        request->entries);
	for (size_t i = 1; i < request->count; i++) {
		uint32_t index = builder->by_id[i];

		if (strcmp(request->entries[builder->by_id[i - 1]].id, request->entries[index].id))
			continue;
		calls_violation_in_call(builder->violation, index, "id");
		return calls_violate(builder->violation, "is the id of an earlier call, too");
	}
	return 0;
}

/* The call with that id; count if there is none. */
static size_t find_id(const struct builder *builder, const char *id)
{
	const struct calls_request *request = builder->request;
	size_t low = 0, high = request->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t index = builder->by_id[middle];
		int order = strcmp(id, request->entries[index].id);

		if (order == 0)
			return index;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return request->count;
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
		size_t found = find_id(builder, json_string_value(id));

		if (found == request->count)
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
		.by_id = malloc(request->count * sizeof(*builder.by_id)),
		.edges = count_edges(request),
	};
	int error = builder.by_id ? sort_ids(&builder) : -ENOMEM;

	if (!error && builder.edges > 0)
		error = build_edges(&builder);
	free(builder.by_id);
	if (!error)
		*out = builder.graph;
	return error;
}

void calls_graph_finish(struct calls_graph *graph)
{
	free(graph->waits_for);
	*graph = (struct calls_graph){0};
}
