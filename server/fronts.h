#ifndef SERVER_FRONTS_H
#define SERVER_FRONTS_H

#include <h2o.h>
#include <stdbool.h>

#include "server/dispatch.h"
#include "server/front.h"

/* The front threads, and what they share: h2o's configuration and the listening sockets. */
struct fronts_options {
	unsigned count; /* at least 1 */
	int listen_fd;  /* owned by the fronts from the start on, also if that fails */
	int admin_fd;   /* likewise; -1: none */
	bool are_given; /* others go on listening on them */
	struct site *site, *admin_site; /* borrowed */
	struct exchange_options exchanges;
	size_t max_body_bytes;         /* of a request; longer ones get a 413 */
	struct rejections *rejections; /* borrowed */
};

struct fronts {
	h2o_globalconf_t http;
	struct front **fronts; /* owned */
	unsigned count;
	unsigned drained;
	int listen_fd, admin_fd; /* -1: none, or closed */
	bool are_given;
	int drained_fd; /* readable when fronts_are_drained() has news */
};

/** Returns 0; -EMFILE, -ENFILE, -ENOMEM, -EAGAIN, and nothing is left running. */
int fronts_start(struct fronts *fronts, const struct fronts_options *options);

/** See front_advance(). */
void fronts_advance(struct fronts *fronts, enum front_phase phase);

/** Have every front go round its loop, and hear of it. Before they are drained. */
void fronts_ask(struct fronts *fronts);
bool fronts_have_answered(const struct fronts *fronts);

/** True once every front is drained. Never waits. */
bool fronts_are_drained(struct fronts *fronts);

/** End the fronts, which are drained; the executors have been destroyed before. */
void fronts_stop(struct fronts *fronts);

#endif
