#ifndef SERVER_GIVEN_SOCKETS_H
#define SERVER_GIVEN_SOCKETS_H

/*
 * Listening sockets that a service manager has opened and left to this process
 * (sd_listen_fds(3)): none of the connections that come while fanoutd starts, or starts
 * again, is refused, and ports below 1024 need no capability.
 *
 * LISTEN_FDS says how many there are, from descriptor 3 on, LISTEN_PID whom they are for, and
 * LISTEN_FDNAMES which is which: "listen" and "admin-listen", like the flags whose address they
 * take the place of. A single one may have any other name: it is the main listener.
 */
struct given_sockets {
	int listen_fd; /* -1: none was given. Owned by whoever takes it, as from listener_open() */
	int admin_fd;  /* likewise */
};

enum { GIVEN_SOCKETS_ERROR_BYTES = 128 };

/**
 * Before this process opens anything itself. Returns 0; -EINVAL what was given makes no sense,
 * with one line in @error, without newline: nothing can be served then.
 */
int given_sockets_find(char *const environment[], struct given_sockets *out,
                       char error[GIVEN_SOCKETS_ERROR_BYTES]);

#endif
