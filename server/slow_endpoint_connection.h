#ifndef SERVER_SLOW_ENDPOINT_CONNECTION_H
#define SERVER_SLOW_ENDPOINT_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "executors/timer_heap.h"
#include "server/slow_endpoint_answer.h"
#include "server/slow_endpoint_counters.h"
#include "server/slow_endpoint_echo.h"
#include "server/slow_endpoint_parameters.h"
#include "server/slow_endpoint_rate.h"
#include "server/slow_endpoint_share.h"

/*
 * The connections of the slow endpoint: their memory, socket, input and timer.
 * slow_endpoint_exchange.h moves them from state to state. Loop thread only.
 *
 * Sockets are registered once, edge-triggered: a connection remembers that it
 * is readable until a read comes back short. Requests sent ahead (pipelining)
 * stay where they are until the answer before them is out.
 */
enum {
	SLOW_INLINE_INPUT_BYTES = 512,
	SLOW_SCRATCH_BYTES = 16384,
};

enum slow_state {
	SLOW_FREE,
	SLOW_READING,   /* a request head */
	SLOW_SKIPPING,  /* the body of a request */
	SLOW_WAITING,   /* timer: the answer is due */
	SLOW_WRITING,   /* an answer */
	SLOW_STALLED,   /* until the client goes */
	SLOW_LINGERING, /* answered for good: reading until the client ends, so that no unread
	                   byte turns our close into a reset. timer: enough of that */
};

struct slow_connection {
	/* Of the state, or "go on" when a turn was cut short. First: the loop casts back from it.
	 */
	struct timer timer;
	struct slow_loop *loop;
	struct slow_connection *next_free;
	int fd;
	enum slow_state state;
	unsigned era; /* see slow_counters_begin() */

	bool readable;    /* a read may bring something: bytes, the end or an error */
	bool peer_closed; /* the client has sent its last byte */
	bool is_slow;     /* the request at hand is for /slow: parameters hold */
	bool unframed;    /* see struct slow_request */

	unsigned skip_bytes; /* of the request's body, still to come */
	struct slow_parameters parameters;
	struct slow_answer answer;
	struct slow_echo echo; /* of the request at hand, until its answer is made of it */
	uint64_t sent;         /* bytes of the answer */

	size_t scanned; /* see slow_request_head_length(); counts from input_start */
	unsigned input_start, input_end, input_capacity;
	char *input; /* inline_input, or SLOW_HEAD_MAX_BYTES on the heap while a head needs them */
	char inline_input[SLOW_INLINE_INPUT_BYTES];
};

/** Connections are made in slabs, which stay until the end. */
struct slow_slab {
	struct slow_slab *next;
	struct slow_connection connections[64];
};

/** What the connections share. Zeroed but for the lines marked "set". */
struct slow_loop {
	int epoll_fd;                  /* set */
	struct timer_heap timers;      /* set; with room for one timer that is no connection's */
	struct slow_counters counters; /* set */
	struct slow_rates rates;
	struct slow_shares slow, failing; /* zeroed when counting starts anew */
	uint64_t random_state;            /* set: the seed */
	struct slow_slab *slabs;
	unsigned slab_count;
	struct slow_connection *free_connections;
	char pattern[SLOW_PATTERN_BYTES]; /* set */
	char scratch[SLOW_SCRATCH_BYTES]; /* for input that is thrown away */
};

/**
 * Serve a fresh non-blocking socket. @fd is consumed, also on failure.
 * Returns 0; -ENOMEM, -ENOSPC memory or epoll watches ran out.
 */
int slow_connection_open(struct slow_loop *loop, int fd);

/** End it, whatever it was doing; a request that waits is counted as canceled. */
void slow_connection_close(struct slow_connection *connection);

/** Close all connections and free their memory. */
void slow_connections_finish(struct slow_loop *loop);

/** Set its timer, which must not be set. */
void slow_connection_set_timer(struct slow_connection *connection, int64_t when_ns);

/**
 * Read more input, or up to @bytes that nobody wants. Only while it is readable.
 *
 * Returns the bytes read; 0 nothing there yet; -EPIPE the client has ended; other -errno of
 * recv(2), and -ENOMEM.
 */
int slow_connection_read(struct slow_connection *connection);
int slow_connection_discard(struct slow_connection *connection, size_t bytes);

/** Done with the first @bytes of input. */
void slow_connection_consume(struct slow_connection *connection, unsigned bytes);

#endif
