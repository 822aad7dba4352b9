#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/listen_address.h"

/**
 * Open a listening TCP socket: non-blocking, close-on-exec, SO_REUSEADDR.
 *
 * @host is a name or an address, IPv6 without brackets; @port 0 takes a free one; the kernel
 * caps @backlog at net.core.somaxconn. *@out_port is the port it got.
 *
 * Blocks while it resolves the host; not from a task. Returns the fd, which is the caller's;
 * -EADDRINUSE; -EACCES the port is privileged; -EADDRNOTAVAIL the host is unknown or not of
 * this machine; -EMFILE, -ENFILE, -ENOMEM. *@out_port is untouched on failure.
 */
int listener_open(const char *host, uint16_t port, int backlog, uint16_t *out_port);

/** Where a listening socket is bound: its address, not a name. 0; -EINVAL it is not bound to an
 * address of IPv4 or IPv6; -EBADF. *@out is untouched on failure. */
int listener_address(int fd, struct listen_address *out);

/**
 * Take part in no more handshakes: who connects from now on hears nothing, tries again a second
 * later, and is refused once the socket is closed. A connection that was made between the last
 * accept() and that would be reset. Of all that share the socket. An error is one of setsockopt(2).
 */
int listener_ignore_new(int fd);

/** Whether only this machine can reach the listener: 127.0.0.0/8 or ::1. */
bool listener_is_loopback(int fd);

#endif
