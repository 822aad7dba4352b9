#ifndef TESTS_CONTRACT_RAW_SERVER_H
#define TESTS_CONTRACT_RAW_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A server that sends exact bytes, right or wrong, by the path of the request.
 * One thread and poll(2). Listens on a free port of 127.0.0.1.
 */
struct raw_server;

enum raw_ending {
	RAW_KEEP,  /* wait for the next request */
	RAW_CLOSE, /* FIN */
	RAW_RESET, /* RST */
};

struct raw_reply {
	const char *path;
	const char *bytes; /* NULL: none */
	size_t length;     /* of @bytes; 0: it is text */
	enum raw_ending ending;
	unsigned answers; /* on one connection; closed at the request after that. 0: no limit */
};

struct raw_counts {
	unsigned connections; /* accepted */
	unsigned open;        /* and not yet closed by either side */
	unsigned requests;    /* complete ones */
};

enum { RAW_REQUEST_BYTES = 8192 };

/** @replies are borrowed, up to one with a NULL path. Fails the test if it cannot. */
struct raw_server *raw_server_start(const struct raw_reply *replies);
void raw_server_stop(struct raw_server *server);

uint16_t raw_server_port(const struct raw_server *server);

/** Any thread. */
void raw_server_counts(struct raw_server *server, struct raw_counts *out);

/** Wait until so many connections are open, or requests have come. False after 5 s. Blocks. */
bool raw_server_wait_open(struct raw_server *server, unsigned open);
bool raw_server_wait_requests(struct raw_server *server, unsigned requests);

/** The last request, NUL-terminated, as it came. */
void raw_server_last_request(struct raw_server *server, char out[RAW_REQUEST_BYTES]);

#endif
