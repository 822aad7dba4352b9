#ifndef TESTS_CONTRACT_SILENT_LISTENER_H
#define TESTS_CONTRACT_SILENT_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

enum { SILENT_FILLERS = 4 };

/** A listening socket on loopback that nobody accepts from. */
struct silent_listener {
	int fd;
	uint16_t port;
	int fillers[SILENT_FILLERS]; /* connections in its accept queue; -1: none */
};

/**
 * Listen on @address:@port, @port 0 being a free one. With @is_full there is no room in its accept
 * queue: to whoever connects it does not answer at all. Fails the test if it cannot.
 */
void silent_listener_open(struct silent_listener *listener, const char *address, uint16_t port,
                          bool is_full);
void silent_listener_close(struct silent_listener *listener);

#endif
