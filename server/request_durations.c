#include "server/request_durations.h"

#include <stdio.h>

#include "server/metrics_text.h"

/* The bounds as Prometheus prints them, and in nanoseconds. */
static const struct bound {
	const char *text;
	int64_t ns;
} bounds[REQUEST_DURATION_BUCKETS] = {
	{"0.005", 5000000},  {"0.01", 10000000},  {"0.025", 25000000}, {"0.05", 50000000},
	{"0.075", 75000000}, {"0.1", 100000000},  {"0.25", 250000000}, {"0.5", 500000000},
	{"0.75", 750000000}, {"1", 1000000000},   {"2.5", 2500000000}, {"5", 5000000000},
	{"7.5", 7500000000}, {"10", 10000000000}, {"+Inf", INT64_MAX},
};

/* Every status that handlers, exchanges and dispatch answer with; the last stands for one that was
 * forgotten here. What h2o answers by itself (413, 431) is not counted. */
static const int statuses[REQUEST_DURATION_STATUSES] = {200, 400, 401, 404, 405, 406,
                                                        413, 415, 503, 504, 500};

void request_durations_add(struct request_durations *durations, int status, int64_t elapsed_ns)
{
	size_t place = 0;
	size_t bucket = 0;

	while (place < REQUEST_DURATION_STATUSES - 1 && statuses[place] != status)
		place++;
	while (bucket < REQUEST_DURATION_BUCKETS - 1 && elapsed_ns > bounds[bucket].ns)
		bucket++;
	atomic_fetch_add_explicit(&durations->by_status[place].buckets[bucket], 1,
	                          memory_order_relaxed);
	atomic_fetch_add_explicit(&durations->by_status[place].total_ns,
	                          (unsigned long long)elapsed_ns, memory_order_relaxed);
}

static void print_status(struct request_durations *durations, size_t place,
                         struct metrics_text *text)
{
	unsigned long long counts[REQUEST_DURATION_BUCKETS];
	unsigned long long total = 0;
	char status[16];

	for (size_t i = 0; i < REQUEST_DURATION_BUCKETS; i++) {
		total += atomic_load_explicit(&durations->by_status[place].buckets[i],
		                              memory_order_relaxed);
		counts[i] = total;
	}
	if (total == 0 || snprintf(status, sizeof(status), "%d", statuses[place]) < 0)
		return;
	/* Name, value, …, NULL; the bound comes last. */
	const char *labels[10] = {"http_route", durations->route, "http_response_status_code",
	                          status};
	size_t bound = 4;

	if (durations->method != NULL) {
		labels[bound++] = "http_request_method";
		labels[bound++] = durations->method;
	}
	labels[bound] = "le";
	for (size_t i = 0; i < REQUEST_DURATION_BUCKETS; i++) {
		labels[bound + 1] = bounds[i].text;
		metrics_sample(text, "http_server_request_duration_seconds_bucket", labels,
		               (double)counts[i]);
	}
	labels[bound] = NULL;
	metrics_sample(text, "http_server_request_duration_seconds_sum", labels,
	               (double)atomic_load_explicit(&durations->by_status[place].total_ns,
	                                            memory_order_relaxed) /
	                       1e9);
	metrics_sample(text, "http_server_request_duration_seconds_count", labels, (double)total);
}

void request_durations_print(struct request_durations *durations, struct metrics_text *text)
{
	for (size_t place = 0; place < REQUEST_DURATION_STATUSES; place++)
		print_status(durations, place, text);
}
