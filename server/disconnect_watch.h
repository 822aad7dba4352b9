#ifndef SERVER_DISCONNECT_WATCH_H
#define SERVER_DISCONNECT_WATCH_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Notices that the client of a waiting request has gone. h2o stops reading an
 * HTTP/1 connection while its request is being handled, and so cannot tell.
 *
 * The fds sit in an epoll set of their own, which is itself one socket of the
 * loop. A request gets there only after 20 ms: a fast one costs no system call.
 *
 * A client that was killed and one that has only finished sending (a half-close)
 * look the same, a FIN; @keep_half_closed decides what that means.
 *
 * Everything here is for the loop's thread.
 */
struct watched_connection {
	h2o_linklist_t link;
	int fd;
	int64_t since_ns; /* CLOCK_MONOTONIC */
	bool armed;       /* the fd is in the epoll set */
};

struct disconnect_watch {
	int epoll_fd; /* owned by @socket */
	bool keep_half_closed;
	h2o_socket_t *socket;
	h2o_linklist_t fresh;   /* not yet armed, oldest first */
	h2o_linklist_t settled; /* armed, or found to be gone */
	void (*gone)(struct watched_connection *connection);
};

/**
 * @gone is called from the loop, once for a connection, which stays in the watch until it is
 * removed; it must not remove any. Returns 0; -EMFILE, -ENFILE, -ENOMEM.
 */
int disconnect_watch_init(struct disconnect_watch *watch, h2o_loop_t *loop, bool keep_half_closed,
                          void (*gone)(struct watched_connection *connection));

/** Nothing is being watched any more. */
void disconnect_watch_finish(struct disconnect_watch *watch);

/** Watch @fd from now on. @connection is borrowed until it is removed. */
void disconnect_watch_add(struct disconnect_watch *watch, struct watched_connection *connection,
                          int fd);

/** Before the fd is closed or reads again. Fine on a zeroed connection, and twice. */
void disconnect_watch_remove(struct disconnect_watch *watch, struct watched_connection *connection);

/** When disconnect_watch_run() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t disconnect_watch_due_ns(const struct disconnect_watch *watch);

/** Arm what has waited long enough. */
void disconnect_watch_run(struct disconnect_watch *watch, int64_t now_ns);

#endif
