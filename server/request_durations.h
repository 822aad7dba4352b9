#ifndef SERVER_REQUEST_DURATIONS_H
#define SERVER_REQUEST_DURATIONS_H

#include <stdatomic.h>
#include <stdint.h>

struct metrics_text;

/*
 * http_server_request_duration_seconds of one route: a histogram for each
 * status, with the bucket bounds of OpenTelemetry's HTTP conventions.
 */
enum {
	REQUEST_DURATION_STATUSES = 11,
	REQUEST_DURATION_BUCKETS = 15, /* the last one has no upper bound */
};

struct request_durations {
	const char *route; /* static text, the value of http_route */
	const char
		*method; /* likewise of http_request_method; NULL: GET, which has no such label */

	/* Relaxed: statistics. Not cumulative; the sum of the buckets is the count. */
	struct {
		atomic_ullong buckets[REQUEST_DURATION_BUCKETS];
		atomic_ullong total_ns;
	} by_status[REQUEST_DURATION_STATUSES];
};

/** Count an answer with @status, @elapsed_ns after its request arrived. Any thread. */
void request_durations_add(struct request_durations *durations, int status, int64_t elapsed_ns);

/** Print the samples of this route, without the head of the family. Any thread. */
void request_durations_print(struct request_durations *durations, struct metrics_text *text);

#endif
