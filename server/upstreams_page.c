#include "server/upstreams_page.h"

#include <stdint.h>

/* NULL: no memory, as everywhere below. */
static json_t *ms_json(int64_t ns)
{
	int64_t tenths = ns / 100000;

	return ns <= 0 || ns == INT64_MAX ? json_null() : json_real((double)tenths / 10);
}

static json_t *results_json(const struct upstream_stats *stats)
{
	json_t *json = json_object();

	for (unsigned result = 0; result < UPSTREAM_RESULTS; result++) {
		json_int_t count = (json_int_t)stats->results[result];

		if (count > 0 && json_object_set_new(json, upstream_result_name(result),
		                                     json_integer(count)) != 0) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

static json_t *header_names_json(const struct named_upstream *upstream)
{
	json_t *json = json_array();

	for (size_t i = 0; i < upstream->header_count; i++) {
		if (json_array_append_new(json, json_string(upstream->headers[i].name)) != 0) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

static json_t *permits_json(const struct upstream_settings *settings,
                            const struct upstream_stats *stats)
{
	if (settings->limits.permits == 0)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:i}", "limit", (int)settings->limits.permits, "wait_ms",
	                 (int)settings->limits.permit_wait_ms, "in_use", (int)stats->permits_in_use,
	                 "waiting", (int)stats->waiting);
}

static json_t *retry_json(const struct retry_settings *settings, const struct upstream_stats *stats)
{
	if (settings->attempts == 0)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:I, s:I}", "attempts", (int)settings->attempts,
	                 "base_ms", (int)settings->base_ms, "max_ms", (int)settings->max_ms, "made",
	                 (json_int_t)stats->retries, "refused", (json_int_t)stats->retries_refused);
}

static json_t *breaker_json(const struct breaker_settings *settings,
                            const struct upstream_stats *stats)
{
	if (!stats->has_breaker)
		return json_null();
	return json_pack("{s:s, s:I, s:i, s:i, s:i, s:i}", "state",
	                 breaker_state_name(stats->breaker), "opened",
	                 (json_int_t)stats->breaker_opened, "error_percent",
	                 (int)settings->error_percent, "min_calls", (int)settings->min_calls,
	                 "window_ms", (int)settings->window_ms, "open_ms", (int)settings->open_ms);
}

static json_t *hedge_json(const struct hedge_settings *settings, const struct upstream_stats *stats)
{
	if (settings->percentile == 0)
		return json_null();
	return json_pack("{s:i, s:i, s:o, s:I, s:I, s:I}", "percentile", (int)settings->percentile,
	                 "budget_percent", (int)settings->budget_percent, "delay_ms",
	                 ms_json(stats->hedge_delay_ns), "made", (json_int_t)stats->hedges, "won",
	                 (json_int_t)stats->hedges_won, "refused",
	                 (json_int_t)stats->hedges_refused);
}

static json_t *upstream_json(const struct upstream_set *set, size_t index)
{
	const struct named_upstream *upstream = upstream_set_at(set, index);
	const struct upstream_settings *settings = upstream_set_settings_at(set, index);
	struct upstream_stats stats;

	upstream_set_stats_at(set, index, &stats);
	return json_pack(
		"{s:s?, s:s?, s:i, s:o, s:{s:o, s:o, s:o}, s:I, s:i, s:i, s:b, s:o, s:o, s:i, s:o, "
		"s:o, s:o}",
		"name", upstream->name, "origin", upstream->origin, "in_flight",
		(int)stats.in_flight, "results", results_json(&stats), "latency_ms", "p50",
		ms_json(stats.p50_ns), "p95", ms_json(stats.p95_ns), "p99", ms_json(stats.p99_ns),
		"attempts", (json_int_t)stats.attempts, "timeout_ms", (int)settings->timeout_ms,
		"connect_timeout_ms", (int)settings->wire.connect_timeout_ms, "http2",
		settings->wire.http2, "headers", header_names_json(upstream), "permits",
		permits_json(settings, &stats), "rate", (int)settings->limits.per_second, "retry",
		retry_json(&settings->retry, &stats), "breaker",
		breaker_json(&settings->breaker, &stats), "hedge",
		hedge_json(&settings->hedge, &stats));
}

static json_t *report(const struct upstream_set *set)
{
	json_t *list = json_array();

	for (size_t i = 0; i < upstream_set_count(set); i++) {
		if (json_array_append_new(list, upstream_json(set, i)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:o}", "upstreams", list);
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	struct upstreams_page *page = (struct upstreams_page *)handler;
	struct query_error error;
	struct upstream_set *set;

	if (query_read(request->query, NULL, 0, &error) != 0) {
		response_bad_query(response, &error);
		return;
	}
	set = upstream_holder_acquire(page->upstreams);
	response_json(response, 200, report(set));
	upstream_set_release(set);
}

static void destroy(struct handler *handler)
{
	(void)handler;
}

void upstreams_page_init(struct upstreams_page *page, struct upstream_holder *upstreams)
{
	*page = (struct upstreams_page){
		.super = {.method = "GET",
	                  .path = "/debug/upstreams",
	                  .serve = serve,
	                  .destroy = destroy},
		.upstreams = upstreams,
	};
}
