#ifndef CLIENTS_HTTP1_SET_H
#define CLIENTS_HTTP1_SET_H

#include <stdbool.h>

#include "clients/connection_gate.h"
#include "clients/http1_idle.h"
#include "clients/http1_left.h"
#include "clients/http1_reply.h"
#include "executors/carrier.h"

/*
 * What the http1 client keeps on each carrier: idle connections, and a buffer to
 * read with. It comes with the first call there and goes with the carrier.
 *
 * Tasks of one carrier can run in parallel, so the set is touched on the carrier
 * alone: the functions that say so are for carrier_call().
 */
struct http1_set;

/** For one read at a time: a call that waits has none, unless a part of a head is in it. */
struct http1_buffer {
	struct phr_header headers[HTTP1_HEADERS_MAX];
	char bytes[HTTP1_HEAD_MAX_BYTES];
};

/** A call's hold on a connection. On its task's stack. */
struct http1_lease {
	struct http1_left *left;            /* the client's */
	struct http1_peers *peers;          /* likewise */
	struct connection_gate *gate;       /* likewise; NULL: any number of connections */
	const struct http1_destination *to; /* borrowed until the end */
	bool is_fresh;                      /* only a connection that nobody has used will do */

	/* Of a wait at @place, before http1_set_take() is called once more. */
	struct http1_connection *given;
	bool has_room; /* for an unopened one */

	/* By http1_set_take(). */
	struct http1_set *set;               /* NULL: no memory */
	struct connection_gate_place *place; /* where to wait, if there is no connection */
	bool must_wait;
	struct http1_connection *connection; /* NULL: must_wait, or no memory */
	bool is_reused;                      /* else it is unopened */

	bool is_kept;    /* for http1_set_give() */
	bool found_room; /* by http1_set_find_room() */
};

/** Take a connection. @arg is a struct http1_lease. On the carrier. */
void http1_set_take(struct carrier *carrier, void *arg);

/** Give it back, to be used by others if is_kept, or to be closed. Likewise. */
void http1_set_give(struct carrier *carrier, void *arg);

/** Close a few idle connections, for their descriptors. Likewise. */
void http1_set_find_room(struct carrier *carrier, void *arg);

/** The set's buffer, or another one; NULL: no memory. Task only. */
struct http1_buffer *http1_set_take_buffer(struct http1_set *set);

/** Task only. NULL is ignored. */
void http1_set_give_buffer(struct http1_set *set, struct http1_buffer *buffer);

#endif
