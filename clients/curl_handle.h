#ifndef CLIENTS_CURL_HANDLE_H
#define CLIENTS_CURL_HANDLE_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clients/curl_fields.h"
#include "clients/curl_tls.h"
#include "clients/http_client.h"
#include "clients/resolver.h"
#include "clients/url_host.h"
#include "executors/task.h"

/* An easy handle of libcurl, used for one call after another, and the call it serves. */
struct curl_group;
struct curl_handle;

/** What all calls of a client have in common. Constant while there are any. */
struct curl_settings {
	int64_t connect_timeout_ms; /* at least 1 */
	struct curl_tls tls;
	bool http2; /* offered to https servers */
};

/**
 * One call under way. On the stack of its task, which parks until @done; nothing
 * refers to it from then on, nor after the task has had it removed.
 */
struct curl_transfer {
	struct task *task;                    /* constant */
	struct http_call *call;               /* constant; the carrier's until @done */
	const char *addresses;                /* constant; "1.2.3.4,[::1]", NULL: the URL has one */
	const struct url_host *host;          /* constant */
	const struct curl_settings *settings; /* constant; also the service's key */
	bool is_overdue;                      /* set before its removal: it took too long */
	struct curl_handle *handle;           /* on the carrier; NULL when none works for it */
	size_t reply_capacity;                /* on the carrier; bytes allocated at call->reply */
	bool has_head;                        /* on the carrier; of the reply, and it is noted */
	size_t most_body_bytes;               /* likewise; valid with it */
	enum http_failure failure;            /* valid once @done */
	const char *reason;                   /* likewise */
	atomic_bool done; /* released by the carrier, last of all; acquired by the task */
};

struct curl_handle {
	CURL *easy;
	struct curl_transfer *transfer;     /* NULL while unused */
	struct curl_group *group;           /* NULL unless added to one */
	struct curl_handle *next;           /* in the service's list of unused ones */
	struct curl_handle *next_unwatched; /* in the group's list */

	struct curl_head head;  /* of the reply */
	int shortage;           /* errno: why there was no socket or no watch; 0 */
	bool out_of_memory;     /* for the reply */
	bool is_too_long;       /* the reply */
	bool has_refused;       /* an address that the call may not connect to */
	bool needs_reset;       /* before the next call: options were set that it may not want, or a
	                           connection was closed meanwhile, see curl_group_remove() */
	unsigned closed_before; /* the group's count of closed connections when it was added */
	const struct curl_settings *settings;
	struct curl_slist
		*fields; /* owned: of the call, borrowed by CURLOPT_HTTPHEADER. NULL: none */

	/* CURLOPT_RESOLVE borrows these. */
	struct curl_slist resolve;
	char resolve_text[sizeof("+:65535:") + URL_HOST_NAME_MAX + RESOLVER_ADDRESSES_BYTES];
};

/** It is to share a connection with others, if the server speaks HTTP/2. */
static inline bool curl_transfer_is_multiplexed(const struct curl_transfer *transfer)
{
	return transfer->settings->http2 && transfer->host->is_tls;
}

/* All of these on the carrier. */

/** @settings are borrowed. Returns 0 or -ENOMEM. *@out is the caller's, for
 * curl_handle_destroy(). */
int curl_handle_create(const struct curl_settings *settings, struct curl_handle **out);

/** In no group. NULL is ignored. */
void curl_handle_destroy(struct curl_handle *handle);

/** Set @handle up for @transfer. Not CURLE_OK: it cannot be; conclude with that. */
CURLcode curl_handle_prepare(struct curl_handle *handle, struct curl_transfer *transfer);

/** Note in the call whether something of a reply has come to a transfer that ends with @code. */
void curl_handle_note_reply(struct curl_handle *handle, CURLcode code);

/** Fill the transfer's outcome, but for @done. */
void curl_handle_conclude(struct curl_handle *handle, CURLcode code);

/** Forget the transfer. False: the handle has to be destroyed, not used again. */
bool curl_handle_release(struct curl_handle *handle, CURLcode code);

#endif
