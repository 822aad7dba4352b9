#ifndef SERVER_SLOW_READERS_H
#define SERVER_SLOW_READERS_H

#include <h2o.h>
#include <stdint.h>

/*
 * What is on its way out. h2o gives a client all the time in the world to read
 * it; here a connection is cut when its client has taken nothing for 30 s.
 *
 * Loop thread only.
 */
struct slow_readers {
	h2o_linklist_t all;   /* handed to h2o and not yet written out */
	int64_t sweep_due_ns; /* CLOCK_MONOTONIC; INT64_MAX while there are none */
};

/** Something that h2o is writing to one client. Embed it. */
struct slow_reader {
	h2o_linklist_t link;
	h2o_req_t *request;
	uint64_t acknowledged_bytes;
	int64_t progress_ns; /* when that last grew, as far as the sweeps saw */
};

void slow_readers_init(struct slow_readers *set);

/** What is being written of the answer to @request makes progress from now on. @reader and
 * @request are borrowed until it is removed. */
void slow_readers_add(struct slow_readers *set, struct slow_reader *reader, h2o_req_t *request);

/** It has been written, or the connection has ended. Fine on a zeroed one, and twice. */
void slow_readers_remove(struct slow_reader *reader);

/** When slow_readers_sweep() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t slow_readers_due_ns(const struct slow_readers *set);

/** Cut the connections that have made no progress. h2o drops them on its next turn. */
void slow_readers_sweep(struct slow_readers *set, int64_t now_ns);

#endif
