#ifndef SERVER_WRITE_PROGRESS_H
#define SERVER_WRITE_PROGRESS_H

#include <stdint.h>

/**
 * Bytes that the peer of a TCP connection has acknowledged since it was opened (tcp(7),
 * TCP_INFO). Any thread. Returns 0, or -errno with *@out untouched.
 */
int write_progress_bytes(int fd, uint64_t *out);

#endif
