#include "server/metrics.h"

#include <stddef.h>

#include "server/metered_client.h"
#include "server/metrics_text.h"
#include "server/process_metrics.h"
#include "server/upstream_metrics.h"

static void print_build(struct metrics_text *text)
{
	metrics_family(text, "fanoutd_build_info", "gauge", "Always 1; what is running.");
	metrics_sample(text, "fanoutd_build_info",
	               (const char *[]){"version", FANOUTD_VERSION, "compiler", __VERSION__, NULL},
	               1);
}

static void print_offload(struct offload *offload, struct metrics_text *text)
{
	metrics_family(text, "fanoutd_offload_threads", "gauge",
	               "Threads for work that must not run on a task's own.");
	for (int i = 0; i < OFFLOAD_LANES; i++) {
		enum offload_lane lane = (enum offload_lane)i;
		struct offload_stats stats;

		offload_stats(offload, lane, &stats);
		metrics_sample(text, "fanoutd_offload_threads",
		               (const char *[]){"lane", offload_lane_name(lane), NULL},
		               stats.threads);
	}
}

static void print_durations(struct metrics_handler *metrics, struct metrics_text *text)
{
	metrics_family(text, "http_server_request_duration_seconds", "histogram",
	               "Time from a request's arrival until its answer was handed to the socket.");
	for (size_t i = 0; i < sizeof(metrics->sites) / sizeof(metrics->sites[0]); i++) {
		struct site *site = metrics->sites[i];

		for (size_t j = 0; site != NULL && j < site->count; j++) {
			/* Both sites have the probes: those of the admin one are not shown. */
			if (i == 0 || !site->routes[j].is_probe)
				request_durations_print(&site->routes[j].durations, text);
		}
	}
	/* An empty label is as good as none. The admin site's would be the same series again. */
	request_durations_print(&metrics->sites[0]->unmatched, text);
}

static void print_upstreams(struct metrics_handler *metrics, struct metrics_text *text)
{
	struct upstream_set *set = upstream_holder_acquire(metrics->upstreams);
	const char *label = "";

	metrics_family(text, "fanoutd_calls_total", "counter",
	               "Calls to an upstream by how they ended; ok is a whole reply with a 2xx.");
	if (metrics->client != NULL) {
		metered_client_print(metrics->client, text);
		label = metered_client_upstream(metrics->client);
	}
	upstream_metrics_print(set, label, text);
	upstream_set_release(set);
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	struct metrics_handler *metrics = (struct metrics_handler *)handler;
	struct metrics_text text;

	(void)request;
	metrics_text_init(&text);
	print_build(&text);
	cpu_watch_print(metrics->cpus, &text);
	memory_watch_print(metrics->memory, &text);
	executor_set_print(metrics->executors, &text);
	print_offload(metrics->offload, &text);
	rejections_print(metrics->rejections, &text);
	reload_counts_print(metrics->reloads, &text);
	print_upstreams(metrics, &text);
	print_durations(metrics, &text);
	process_metrics_print(&text);
	metrics_answer(&text, response);
}

static void destroy(struct handler *handler)
{
	(void)handler;
}

void metrics_handler_init(struct metrics_handler *handler)
{
	handler->super = (struct handler){
		.method = "GET",
		.path = "/metrics",
		.serve = serve,
		.destroy = destroy,
	};
}
