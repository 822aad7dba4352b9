#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

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

/** Whether only this machine can reach the listener: 127.0.0.0/8 or ::1. */
bool listener_is_loopback(int fd);

#endif
