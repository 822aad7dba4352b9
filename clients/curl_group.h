#ifndef CLIENTS_CURL_GROUP_H
#define CLIENTS_CURL_GROUP_H

#include <curl/curl.h>
#include <stdbool.h>

#include "clients/curl_handle.h"
#include "executors/carrier.h"

/*
 * A multi handle of libcurl driven by a carrier, with few transfers.
 *
 * libcurl's cost per transfer grows with the transfers of one multi, since it
 * walks the connections of a host whenever it adds one: with 1,000 it is twice
 * that of groups of 64, with 5,000 several times. So a carrier has as many
 * groups as it needs. Each keeps its own idle connections, at most as many as
 * transfers, so a group that has been full has one for each.
 *
 * Over HTTP/2 a group shares one connection, so it has as many transfers as servers
 * are told to allow on one (RFC 9113, 6.5.2). With more, 7.88 would open a connection
 * for each of the others: it makes them wait for the first one alone.
 */
enum { CURL_GROUP_TRANSFERS = 64, CURL_GROUP_STREAMS = 100 };

struct curl_group {
	/* The transfer of @handle has ended with @code; it is still in the group. */
	void (*ended)(struct curl_group *group, struct curl_handle *handle, CURLcode code);
	void *arg;           /* of whoever set @ended */
	bool is_multiplexed; /* its transfers are, see curl_transfer_is_multiplexed() */
	const struct address_policy *addresses; /* of its transfers' calls */
	unsigned most_transfers;                /* at once */
	unsigned transfers;                     /* in it now */
	bool was_used;                          /* a transfer was added; cleared by whoever looks */
	struct curl_group *next;
	struct curl_group *next_with_room;

	/* For curl_group.c. */
	CURLM *multi;
	struct carrier *carrier;
	struct carrier_timer timer;
	struct deadline run_at;        /* when libcurl wants to be called */
	struct deadline armed_at;      /* when @timer will fire; not later than run_at */
	struct socket_watch *watches;  /* one a connection, idle ones included */
	struct curl_handle *unwatched; /* whose socket could not be watched: to be ended */
	unsigned closed;               /* connections closed so far */
};

/* All of these on the carrier, none of them from @ended but curl_group_remove(). */

/** Zeroed but for @ended, @arg, @is_multiplexed and @addresses. Returns 0 or -ENOMEM. */
int curl_group_init(struct curl_group *group, struct carrier *carrier);

/** No transfer is in it. Closes its connections. */
void curl_group_finish(struct curl_group *group);

static inline bool curl_group_has_room(const struct curl_group *group)
{
	return group->transfers < group->most_transfers;
}

/** Start the transfer that @handle has been prepared for; may call @ended before it returns.
 * Not CURLE_OK: not started. */
CURLcode curl_group_add(struct curl_group *group, struct curl_handle *handle);

/** Take @handle out; closes its connection if the transfer is still under way. */
void curl_group_remove(struct curl_group *group, struct curl_handle *handle);

#endif
