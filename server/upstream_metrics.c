#include "server/upstream_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/metrics_text.h"

enum { BOUND_BYTES = 32 };

/* An upstream as it is while one page is made. */
struct view {
	const struct named_upstream *upstream;
	const char *label;
	bool is_default;
	struct upstream_stats stats;
};

struct views {
	struct view *list;
	size_t count;
	struct metrics_text *text;
};

static const char *label_of(const struct named_upstream *upstream, const char *default_label)
{
	if (upstream->origin == NULL)
		return "*";
	if (upstream->name == NULL)
		return default_label;
	return strcmp(upstream->name, default_label) == 0 ? upstream->origin : upstream->name;
}

static int look_at_all(const struct upstream_set *set, const char *default_label,
                       struct views *views)
{
	views->count = upstream_set_count(set);
	views->list = calloc(views->count + 1, sizeof(*views->list));
	if (views->list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < views->count; i++) {
		struct view *view = &views->list[i];

		view->upstream = upstream_set_at(set, i);
		view->label = label_of(view->upstream, default_label);
		view->is_default = view->upstream->name == NULL && view->upstream->origin != NULL;
		upstream_set_stats_at(set, i, &view->stats);
	}
	return 0;
}

/* ------ families of one number for each upstream */

typedef double value_of(const struct upstream_stats *stats);

static double in_flight(const struct upstream_stats *stats)
{
	return stats->in_flight;
}

static double attempts(const struct upstream_stats *stats)
{
	return (double)stats->attempts;
}

static double retries(const struct upstream_stats *stats)
{
	return (double)stats->retries;
}

static double retries_refused(const struct upstream_stats *stats)
{
	return (double)stats->retries_refused;
}

static double hedges(const struct upstream_stats *stats)
{
	return (double)stats->hedges;
}

static double hedges_won(const struct upstream_stats *stats)
{
	return (double)stats->hedges_won;
}

static double hedges_refused(const struct upstream_stats *stats)
{
	return (double)stats->hedges_refused;
}

static double breaker_opened(const struct upstream_stats *stats)
{
	return (double)stats->breaker_opened;
}

static double permits(const struct upstream_stats *stats)
{
	return stats->permits;
}

static double permits_in_use(const struct upstream_stats *stats)
{
	return stats->permits_in_use;
}

static double waiting(const struct upstream_stats *stats)
{
	return stats->waiting;
}

static const struct family {
	const char *name, *type, *help;
	value_of *value;
} families[] = {
	{"fanoutd_upstream_in_flight", "gauge", "Calls under way, those that wait included.",
         in_flight},
	{"fanoutd_upstream_attempts_total", "counter", "How often calls were sent.", attempts},
	{"fanoutd_upstream_retries_total", "counter", "Attempts after one that failed.", retries},
	{"fanoutd_upstream_retries_refused_total", "counter",
         "Retries that the budget did not allow.", retries_refused},
	{"fanoutd_upstream_hedges_total", "counter", "Second attempts beside a slow first.",
         hedges},
	{"fanoutd_upstream_hedges_won_total", "counter", "Those of them that answered first.",
         hedges_won},
	{"fanoutd_upstream_hedges_refused_total", "counter",
         "Second attempts that the budget did not allow.", hedges_refused},
	{"fanoutd_upstream_breaker_opened_total", "counter", "How often the breaker has opened.",
         breaker_opened},
	{"fanoutd_upstream_permits", "gauge", "Most calls in flight; 0 is any number.", permits},
	{"fanoutd_upstream_permits_in_use", "gauge", "Permits that calls have.", permits_in_use},
	{"fanoutd_upstream_waiting", "gauge", "Calls that wait for a permit.", waiting},
};

static void print_family(const struct views *views, const struct family *family)
{
	metrics_family(views->text, family->name, family->type, family->help);
	for (size_t i = 0; i < views->count; i++)
		metrics_sample(views->text, family->name,
		               (const char *[]){"upstream", views->list[i].label, NULL},
		               family->value(&views->list[i].stats));
}

/* ------ the others */

static void print_results(const struct views *views)
{
	for (size_t i = 0; i < views->count; i++) {
		const struct view *view = &views->list[i];

		for (unsigned result = 0; !view->is_default && result < UPSTREAM_RESULTS; result++)
			metrics_sample(views->text, "fanoutd_calls_total",
			               (const char *[]){"upstream", view->label, "result",
			                                upstream_result_name(result), NULL},
			               (double)view->stats.results[result]);
	}
}

static void print_breakers(const struct views *views)
{
	static const char name[] = "fanoutd_upstream_breaker_state";

	metrics_family(views->text, name, "gauge", "1 for the state that the breaker is in.");
	for (size_t i = 0; i < views->count; i++) {
		const struct view *view = &views->list[i];

		for (int state = 0; view->stats.has_breaker && state < BREAKER_STATES; state++)
			metrics_sample(views->text, name,
			               (const char *[]){
					       "upstream", view->label, "state",
					       breaker_state_name((enum breaker_state)state), NULL},
			               view->stats.breaker == (enum breaker_state)state);
	}
}

/* "0.005" for a bound of five milliseconds. */
static void print_bound(char out[BOUND_BYTES], int64_t bound_ns)
{
	if (snprintf(out, BOUND_BYTES, "%g", (double)bound_ns / 1e9) < 0)
		out[0] = '\0';
}

static void print_durations_of(const struct view *view, struct metrics_text *text)
{
	const struct upstream_stats *stats = &view->stats;
	const char *labels[] = {"upstream", view->label, "le", NULL, NULL};
	char bound[BOUND_BYTES];
	uint64_t total = 0;

	for (size_t i = 0; i <= UPSTREAM_DURATION_BOUNDS; i++) {
		total += stats->durations[i];
		if (i < UPSTREAM_DURATION_BOUNDS)
			print_bound(bound, upstream_duration_bounds_ns[i]);
		labels[3] = i < UPSTREAM_DURATION_BOUNDS ? bound : "+Inf";
		metrics_sample(text, "http_client_request_duration_seconds_bucket", labels,
		               (double)total);
	}
	labels[2] = NULL;
	metrics_sample(text, "http_client_request_duration_seconds_sum", labels,
	               (double)stats->durations_ns / 1e9);
	metrics_sample(text, "http_client_request_duration_seconds_count", labels, (double)total);
}

static void print_durations(const struct views *views)
{
	metrics_family(views->text, "http_client_request_duration_seconds", "histogram",
	               "Time that calls of lists have taken, attempts and waits included.");
	for (size_t i = 0; i < views->count; i++)
		print_durations_of(&views->list[i], views->text);
}

void upstream_metrics_print(const struct upstream_set *set, const char *default_label,
                            struct metrics_text *text)
{
	struct views views = {.text = text};

	if (look_at_all(set, default_label, &views) != 0) {
		text->buffer.error = -ENOMEM; /* a 500, rather than a page with a hole */
		return;
	}
	print_results(&views);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		print_family(&views, &families[i]);
	print_breakers(&views);
	print_durations(&views);
	free(views.list);
}
