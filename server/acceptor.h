#ifndef SERVER_ACCEPTOR_H
#define SERVER_ACCEPTOR_H

#include <h2o.h>
#include <stdatomic.h>
#include <stdint.h>

#include "server/rejections.h"

/*
 * Accepts connections of one listening socket for one loop.
 *
 * All fronts accept from the same socket: it has one backlog, as deep as was
 * asked for, and none of the connections in it is lost when a front stops. (With
 * SO_REUSEPORT each would have its own queue, filled by hash.)
 *
 * When descriptors run out, a level-triggered loop would spin on the connection
 * that it cannot take. So the acceptor gives up a descriptor kept in reserve, turns
 * connections away with a 503 on it, and then leaves the listener alone for 10 ms.
 *
 * Loop thread only.
 */
struct acceptor {
	h2o_accept_ctx_t accept;
	h2o_hostconf_t *hosts[2]; /* what @accept serves, NULL at the end */
	h2o_socket_t *listener;   /* NULL once closed */
	int reserve_fd;           /* -1 while it could not be opened again */
	int64_t resume_ns;        /* CLOCK_MONOTONIC; INT64_MAX: accepting */
	int64_t next_log_ns;      /* CLOCK_MONOTONIC; the soonest to log a back-off again */
	struct rejections *rejections;
};

/**
 * Accept from @listen_fd, which stays the caller's (the acceptor has a duplicate), and serve
 * @host. Returns 0; -EMFILE, -ENFILE, -ENOMEM.
 */
int acceptor_init(struct acceptor *acceptor, h2o_context_t *context, h2o_hostconf_t *host,
                  int listen_fd, struct rejections *rejections);

/** When acceptor_run() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t acceptor_due_ns(const struct acceptor *acceptor);

/** End a back-off that is over. */
void acceptor_run(struct acceptor *acceptor, int64_t now_ns);

/** Accept what has already connected, then no more. Twice is fine. */
void acceptor_close(struct acceptor *acceptor);

#endif
