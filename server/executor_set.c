#include "server/executor_set.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "handlers/query.h"
#include "server/metrics_text.h"

static struct executor_options options_for(const char *name, const struct config *config,
                                           unsigned carriers)
{
	return (struct executor_options){
		.threads = strcmp(name, "pool") == 0 ? config->pool_threads : carriers,
		.max_tasks = config->max_tasks,
		.max_threads = config->max_threads,
		.max_queued = config->queue,
		.when_full = config->when_full,
		.stack_bytes = config->stack_bytes,
		.spare_drivers = config->spare_drivers,
		.pinned_threshold_ms = config->pinned_threshold_ms,
		.stack_guard = config->stack_guard,
	};
}

int executor_set_start(struct executor_set *set, const struct config *config, unsigned carriers,
                       const char **failed)
{
	*set = (struct executor_set){0};
	for (const char *const *name = executor_names(); *name != NULL; name++) {
		bool preferred = strcmp(*name, config->executor) == 0;

		if (!preferred && !config->compare)
			continue;
		assert(set->count < EXECUTOR_SET_MAX);
		struct executor_options options = options_for(*name, config, carriers);
		int error = executor_create(*name, &options, &set->executors[set->count]);

		if (error != 0) {
			*failed = *name;
			executor_set_destroy(set);
			return error;
		}
		if (preferred)
			set->preferred = set->executors[set->count];
		set->count++;
	}
	return 0;
}

struct executor *executor_set_pick(const struct executor_set *set, const char *query)
{
	char name[QUERY_NAME_BYTES];

	/* With one executor the parameter is the handler's to refuse; so is a wrong name. */
	if (set->count > 1 && query_peek(query, "executor", name, sizeof(name)) == 0)
		for (size_t i = 0; i < set->count; i++)
			if (strcmp(executor_name(set->executors[i]), name) == 0)
				return set->executors[i];
	return set->preferred;
}

int executor_set_resize(struct executor_set *set, unsigned carriers)
{
	int first_error = 0;

	for (size_t i = 0; i < set->count; i++) {
		int error = executor_resize(set->executors[i], carriers);

		if (first_error == 0)
			first_error = error;
	}
	return first_error;
}

void executor_set_destroy(struct executor_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		executor_destroy(set->executors[i]);
	*set = (struct executor_set){0};
}

static void print_states(const char *name, const struct executor_stats *stats,
                         struct metrics_text *text)
{
	const struct {
		const char *state;
		unsigned count;
	} states[] = {
		{"running", stats->running},
		{"parked", stats->parked},
		/* Admitted, and neither running nor parked. The three are read one after another.
	         */
		{"queued", stats->live > stats->running + stats->parked
	                           ? stats->live - stats->running - stats->parked
	                           : 0},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		metrics_sample(text, "fanoutd_tasks",
		               (const char *[]){"executor", name, "state", states[i].state, NULL},
		               states[i].count);
}

/* One family: what @figure picks from the stats of each executor. */
static void print_family(const struct executor_set *set, const struct executor_stats *stats,
                         const char *family, const char *type, const char *help,
                         double (*figure)(const struct executor_stats *stats),
                         struct metrics_text *text)
{
	metrics_family(text, family, type, help);
	for (size_t i = 0; i < set->count; i++)
		metrics_sample(text, family,
		               (const char *[]){"executor", executor_name(set->executors[i]), NULL},
		               figure(&stats[i]));
}

static double queue_depth(const struct executor_stats *stats)
{
	return stats->queued;
}

static double threads(const struct executor_stats *stats)
{
	return stats->threads;
}

static double submitted(const struct executor_stats *stats)
{
	return (double)stats->submitted;
}

static double refused(const struct executor_stats *stats)
{
	return (double)stats->refused;
}

static void print_pinned(const uint64_t pinned[PINNED_KINDS], struct metrics_text *text)
{
	metrics_family(text, "fanoutd_pinned_total", "counter",
	               "Times a task kept its carrier for longer than --pinned-threshold-ms.");
	for (size_t kind = 0; kind < PINNED_KINDS; kind++)
		metrics_sample(
			text, "fanoutd_pinned_total",
			(const char *[]){"kind", pinned_kind_name((enum pinned_kind)kind), NULL},
			(double)pinned[kind]);
}

static void print_stacks(const struct executor_stats *stats, struct metrics_text *text)
{
	static const char *const guards[] = {
		[STACK_GUARD_MADVISE] = "madvise",
		[STACK_GUARD_MPROTECT] = "mprotect",
		[STACK_GUARD_CANARY] = "canary",
	};

	metrics_family(
		text, "fanoutd_stack_high_water_bytes", "gauge",
		"Most that a task was seen to have used of its stack; 1 in 256 is looked at.");
	metrics_sample(text, "fanoutd_stack_high_water_bytes", NULL,
	               (double)stats->stack_high_water_bytes);
	metrics_family(text, "fanoutd_stacks", "gauge",
	               "Stacks there are, in use or not, by what guards them.");
	for (unsigned kind = STACK_GUARD_MADVISE; kind < STACK_GUARD_KINDS; kind++)
		metrics_sample(text, "fanoutd_stacks",
		               (const char *[]){"guard", guards[kind], NULL}, stats->stacks[kind]);
}

void executor_set_print(const struct executor_set *set, struct metrics_text *text)
{
	struct executor_stats stats[EXECUTOR_SET_MAX];
	unsigned carriers = 0, drivers = 0;
	uint64_t pinned[PINNED_KINDS] = {0};

	metrics_family(text, "fanoutd_tasks", "gauge",
	               "Tasks admitted and not finished, by state.");
	for (size_t i = 0; i < set->count; i++) {
		executor_stats(set->executors[i], &stats[i]);
		carriers += stats[i].carriers;
		drivers += stats[i].drivers;
		for (size_t kind = 0; kind < PINNED_KINDS; kind++)
			pinned[kind] += stats[i].pinned[kind];
		print_states(executor_name(set->executors[i]), &stats[i], text);
	}
	metrics_family(text, "fanoutd_carriers", "gauge", "Carriers that accept tasks.");
	metrics_sample(text, "fanoutd_carriers", NULL, carriers);
	metrics_family(text, "fanoutd_drivers", "gauge",
	               "Threads that run carriers, spares included.");
	metrics_sample(text, "fanoutd_drivers", NULL, drivers);
	print_pinned(pinned, text);
	print_family(set, stats, "fanoutd_queue_depth", "gauge",
	             "Requests and scopes that wait in run queues.", queue_depth, text);
	print_family(set, stats, "fanoutd_executor_threads", "gauge", "Threads of an executor.",
	             threads, text);
	print_family(set, stats, "fanoutd_tasks_admitted_total", "counter",
	             "Tasks admitted, children included.", submitted, text);
	print_family(set, stats, "fanoutd_tasks_refused_total", "counter",
	             "Tasks refused because the executor was full, children included.", refused,
	             text);
	for (size_t i = 0; i < set->count; i++)
		if (stats[i].stack_guard != NULL)
			print_stacks(&stats[i], text);
}

const char *executor_set_stack_guard(const struct executor_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct executor_stats stats;

		executor_stats(set->executors[i], &stats);
		if (stats.stack_guard != NULL)
			return stats.stack_guard;
	}
	return "none";
}
