#ifndef CLIENTS_HTTP1_LEFT_H
#define CLIENTS_HTTP1_LEFT_H

#include <pthread.h>

#include "clients/http1_hosts.h"

/*
 * Idle connections that were left by carriers that have ended: threads of the
 * thread executor, which live as long as a task, and carriers that a smaller CPU
 * quota took away. Detached; any carrier of the client's tasks may take them.
 *
 * That their peers close them, or that they are old, is noticed when somebody
 * looks: a carrier that closes old ones of its own, a call that would connect, and
 * the client's tick.
 */
struct http1_left {
	pthread_mutex_t lock;
	struct http1_hosts hosts; /* lock */
};

enum { HTTP1_LEFT_MAX = 4096 };

void http1_left_init(struct http1_left *left);

/** Closes them. */
void http1_left_finish(struct http1_left *left);

/** Take @connection, which is detached and no table's; closed if there are too many. @to is where
 * it goes to. Any thread. */
void http1_left_put(struct http1_left *left, struct http1_connection *connection,
                    const struct http1_destination *to);

/** A live connection to @to, the caller's from now on; NULL: there is none. Any thread. */
struct http1_connection *http1_left_take(struct http1_left *left,
                                         const struct http1_destination *to);

/** Close at most @most that have been idle since @idle_since_ns or longer. Returns how many it
 * closed. Any thread. */
unsigned http1_left_close_old(struct http1_left *left, int64_t idle_since_ns, unsigned most);

#endif
