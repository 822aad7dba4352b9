#ifndef LOADTESTS_FLOOR_BARE_CLIENT_H
#define LOADTESTS_FLOOR_BARE_CLIENT_H

#include <netinet/in.h>
#include <stdint.h>

/**
 * The least that HTTP calls can cost: connect, send, read and epoll on one thread. A reply is not
 * parsed, its bytes are counted. How many there must be is read off the first reply (its head and
 * its Content-Length): the upstream answers every call alike, as the slow endpoint does.
 *
 * Connections are kept alive. One thread at a time.
 */
struct bare_client;

/** What a round of calls took. */
struct bare_round {
	unsigned calls;
	unsigned delay_ms;
	unsigned ok; /* whole replies */
	unsigned failed;
	unsigned opened; /* connections that were not there before */
	uint64_t wall_ns;
	uint64_t cpu_ns;   /* of the whole process */
	int64_t rss_bytes; /* once every call was started, above what the process had before it made
	                    * any; 0 without a delay: then no moment has them all in flight */
};

/**
 * @upstream is copied; at most @calls_max at once. The caller owns *@out. -ENOMEM, -EMFILE,
 * -ENFILE.
 */
int bare_client_create(const struct sockaddr_in *upstream, unsigned calls_max,
                       struct bare_client **out);

/**
 * Start @calls calls of GET /slow?ms=@delay_ms (1 … calls_max of them, all before any reply is
 * read), wait for their replies and fill @round. A call fails when its connection does, when its
 * reply has another length, or 10 s after it was due; the first reply must be a 200 whose head
 * comes in one piece. No call is tried again. Blocks.
 */
void bare_client_round(struct bare_client *client, unsigned calls, unsigned delay_ms,
                       struct bare_round *round);

/** The next round opens all its connections anew. */
void bare_client_close_connections(struct bare_client *client);

/** NULL is none. */
void bare_client_destroy(struct bare_client *client);

#endif
