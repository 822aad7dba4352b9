#ifndef SERVER_FRONT_H
#define SERVER_FRONT_H

#include <h2o.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/acceptor.h"
#include "server/dispatch.h"

/*
 * One front thread: an h2o loop that accepts, parses, answers what answers at
 * once, and passes the rest to an executor. It never waits for anything else.
 *
 * An h2o loop never changes its thread, since h2o keeps thread-local pointers in
 * its buffers: the thread makes, runs and disposes of it. All its timers are
 * kept here, on CLOCK_MONOTONIC; h2o's own follow the wall clock.
 */
struct front;

/** How far the front is on its way out. It only goes up. */
enum front_phase {
	FRONT_SERVING,
	FRONT_CLOSING_CONNECTIONS, /* still accepts; every answer says Connection: close */
	FRONT_DRAINING,            /* listeners are closed, idle connections too */
	FRONT_CANCELING,           /* what is out has been cancelled and answers with what it has */
	FRONT_ABANDONING,          /* what has not answered gets a 503, and connections are cut */
};

/** The same for all fronts. */
struct front_options {
	h2o_globalconf_t *http;   /* borrowed, constant */
	h2o_hostconf_t *hosts[2]; /* the main and the admin one; NULL: none */
	int listen_fds[2];        /* what serves them; borrowed until the front has started */
	struct exchange_options exchanges;
	struct rejections *rejections; /* borrowed */
	int drained_fd; /* an eventfd: 1 is added when the front is drained. Borrowed */
};

/**
 * Start the thread, which is called "front-@index". Blocks until it has its loop. On success *@out
 * is the caller's. Returns 0; -EMFILE, -ENFILE, -ENOMEM, -EAGAIN.
 */
int front_start(const struct front_options *options, unsigned index, struct front **out);

/**
 * Go on to @phase. In FRONT_DRAINING or later the front is drained once no connection and no
 * exchange is left; then it only waits to be stopped. Any thread.
 */
void front_advance(struct front *front, enum front_phase phase);

/** Have the loop go round once. Any thread. */
void front_ask(struct front *front);

/** Whether it has since the last front_ask(). */
bool front_has_answered(const struct front *front);

/**
 * End a front that is drained, and free it. The executors must be destroyed before: their
 * threads may be about to wake the loop. NULL is ignored.
 */
void front_stop(struct front *front);

#endif
