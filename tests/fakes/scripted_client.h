#ifndef TESTS_FAKES_SCRIPTED_CLIENT_H
#define TESTS_FAKES_SCRIPTED_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/http_client.h"

/*
 * A client that answers from a script instead of the network, for tests of what
 * makes calls. It waits as a real one does: the task parks, and the deadline and
 * cancellation end the wait.
 *
 *	struct http_client *client;
 *
 *	scripted_client_create(&(struct scripted_options){
 *		.replies = (struct scripted_reply[]){{.status = 500}, {.failure = HTTP_RESET}},
 *		.reply_count = 2,
 *	}, &client);
 */

/** Zeroed is an immediate 200 with an empty body. */
struct scripted_reply {
	enum http_failure failure; /* HTTP_OK: a whole reply */
	int status;                /* 0 means 200 */
	size_t bytes;              /* of body, all 'x'; over max_reply_bytes is HTTP_TOO_LARGE */
	int64_t delay_ns;          /* before any of it; INT64_MAX is for ever */
	/* With a call that keeps headers: borrowed for the client's life. */
	const struct http_header *headers;
	size_t header_count;
	bool replied; /* a failure comes after the first byte; a whole reply always does */
	bool has_retry_after;
	unsigned retry_after_s;
};

struct scripted_options {
	/* Copied. Calls are answered with these in turn, by the order in which they start, again
	 * from the first after the last. NULL: every call gets a zeroed reply. */
	const struct scripted_reply *replies;
	size_t reply_count;

	/* If set, changes what call number @index (from 0) gets, or looks at @call. On the calling
	 * task, many at once; must not wait. */
	void (*adjust)(void *arg, const struct http_call *call, unsigned index,
	               struct scripted_reply *reply);
	void *arg;
};

struct scripted_stats {
	unsigned calls;          /* started */
	unsigned in_flight;      /* started and not yet over */
	unsigned peak_in_flight; /* most of them at once */
	unsigned ticks;          /* http_client_tick() */
};

/** On success *@out is the caller's, for http_client_destroy(). Returns 0 or -ENOMEM. */
int scripted_client_create(const struct scripted_options *options, struct http_client **out);

/** Any thread. */
void scripted_client_stats(struct http_client *client, struct scripted_stats *out);

#endif
