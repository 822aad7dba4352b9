#ifndef CLIENTS_HTTP1_CONNECTION_H
#define CLIENTS_HTTP1_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "clients/connection_gate.h"
#include "clients/http1_address.h"
#include "clients/http1_request.h"
#include "executors/io.h"

/* A connection of the http1 client, from connect(2) to close(2), and one request upon it. */
struct http1_host;

enum http1_connection_state {
	HTTP1_UNOPENED, /* zero: io.fd means nothing */
	HTTP1_DETACHED, /* io.fd is connected, and no carrier's */
	HTTP1_CONNECTING,
	HTTP1_CONNECTED, /* at least, something could be sent */
};

/**
 * How long a connection is idle before it is closed: this, up to the next whole second, at which
 * all carriers wake together. Servers close theirs after 5 s (Node, Apache, uvicorn), 10 s (h2o),
 * 75 s (nginx): a connection that the server is about to close costs a second attempt, so we are
 * first.
 */
#define HTTP1_IDLE_NS INT64_C(3000000000)

/** Zero it first. A call's, and so its task's, or idle, and so the table's that it is in. */
struct http1_connection {
	struct io io;
	enum http1_connection_state state;
	bool may_have_more; /* there may be bytes to read that are not going to be reported: read
	                       before waiting */
	struct deadline connect_until;
	struct connection_gate *gate; /* where it has room, until it is destroyed; NULL: nowhere */

	/* For http1_hosts.c. */
	struct http1_host *host;
	struct http1_connection *newer, *older; /* of the idle ones of @host */
	int64_t idle_since_ns;
};

/** Why and for how long a call waits. */
struct http1_wait {
	struct wait_site site;
	struct deadline deadline;
};

/**
 * Begin to connect an unopened connection. That it has failed is seen when something is sent.
 * Task only. Returns 0 or the negative errno of socket(2), connect(2) or io_open(); it is unopened
 * then.
 */
int http1_connection_open(struct http1_connection *connection, const struct http1_address *address,
                          struct deadline until);

/** Register a detached one with the task's carrier. Task only. Returns as io_open() does. */
int http1_connection_attach(struct http1_connection *connection);

/** What is left to send of a request. */
struct http1_sending {
	struct iovec parts[2]; /* the last @left ones */
	unsigned left;         /* 0: it is sent as a whole */
	bool is_refused;       /* the peer takes no more */
};

/** All of @request, which is borrowed. */
void http1_sending_init(struct http1_sending *sending, const struct http1_request *request);

/**
 * Send what is left as soon as there is a connection, until all is sent, the peer takes no more, or
 * there is something to read: a server may answer before it has all of a request.
 *
 * Task only; parks. Returns 0; -ECANCELED; -ETIMEDOUT at the deadline, or at connect_until while
 * connecting; while connecting why that failed; -ENOBUFS, -ENOMEM.
 */
int http1_connection_send(struct http1_connection *connection, struct http1_sending *sending,
                          const struct http1_wait *wait);

/** Close it, after which it is unopened. Task only. */
void http1_connection_close(struct http1_connection *connection);

/** Wait until there may be something to read. Task only; parks. 0, -ETIMEDOUT, -ECANCELED. */
int http1_connection_wait(struct http1_connection *connection, const struct http1_wait *wait);

/** Returns bytes read, 0 at the end, -EAGAIN, or another negative errno. Task only. */
ssize_t http1_connection_read(struct http1_connection *connection, void *into, size_t room);

/** Whether an idle one can take a request, as far as its carrier knows. On the carrier. */
bool http1_connection_is_alive(struct http1_connection *connection);

/** The same, as far as the kernel knows: a system call. Any thread. */
bool http1_connection_is_quiet(const struct http1_connection *connection);

/** An open one becomes detached. On its carrier. */
void http1_connection_detach(struct http1_connection *connection);

/** Close it in any state, and free it. On its carrier; if detached or unopened, any thread. */
void http1_connection_destroy(struct http1_connection *connection);

#endif
