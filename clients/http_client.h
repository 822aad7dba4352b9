#ifndef CLIENTS_HTTP_CLIENT_H
#define CLIENTS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/address_policy.h"
#include "clients/http_header.h"
#include "clients/reply_memory.h"
#include "executors/deadline.h"

/*
 * Calls to other HTTP services, as blocking code. http1_client.h is for http://,
 * curl_client.h for all of it; tests/fakes/scripted_client.c answers from a script.
 */

/** What went wrong, as users see it in an answer; HTTP_OK when a whole reply arrived. */
enum http_failure {
	HTTP_OK,
	HTTP_TIMEOUT,
	HTTP_CONNECT,
	HTTP_RESET,
	HTTP_TOO_LARGE,
	HTTP_CANCELED,
	HTTP_FD_LIMIT, /* this process or system is out of file descriptors, or of memory */
	HTTP_NO_PERMIT,
	HTTP_PROTOCOL,
	HTTP_DNS,
	HTTP_TLS,
	HTTP_BREAKER,  /* the upstream has failed too often of late, and is left alone */
	HTTP_FAILURES, /* how many there are */
};

/** The name users see: "timeout", "connect", …; "ok" for HTTP_OK. Static. */
const char *http_failure_name(enum http_failure failure);

/** One call: the caller fills the request, the client fills the outcome. Zero it first, and finish
 * it before it is used again. */
struct http_call {
	/* Request. Borrowed until http_call() returns. */
	const char *method; /* NULL means GET */
	const char *url;
	const void *body;
	size_t body_len;
	/* Sent after Host, in this order. Valid, else HTTP_PROTOCOL, and none that
	 * http_header_is_reserved(); User-Agent and Accept take the place of the client's own. */
	const struct http_header *headers;
	size_t header_count;
	const struct address_policy *addresses; /* what may be connected to, else HTTP_CONNECT. Two
	                                           are one only if they are the same object, which
	                                           outlives the client. NULL: any address */
	bool repeatable;        /* may be sent twice although its method is not idempotent */
	bool keep_headers;      /* leave the reply's in reply_headers */
	size_t max_reply_bytes; /* a longer reply fails with HTTP_TOO_LARGE; never 0. Headers that
	                           are kept count, with a NUL after each name and value */
	struct reply_memory *memory; /* what is kept of the reply is taken from this, or fails with
	                                HTTP_TOO_LARGE; given back by http_call_finish(). NULL:
	                                there is enough */
	bool count_only;             /* count reply_len and leave reply NULL */
	bool accepts_compressed;     /* a client that can may ask for gzip or deflate; what arrives
	                                here, and what max_reply_bytes counts, is decompressed */
	unsigned timeout_ms; /* from when the call starts, after any wait for leave to (upstream.h);
	                        0: the deadline alone holds */

	/* Outcome. */
	enum http_failure failure;
	const char *reason; /* static text for logs; NULL when there is no failure */
	int status;         /* HTTP status of the reply */
	char *reply;        /* NUL-terminated; freed by http_call_finish(). NULL if failed */
	size_t reply_len;   /* bytes, NUL excluded */
	/* With keep_headers, as they came, but for white space around values. One block, freed by
	 * http_call_finish(). NULL if failed. */
	struct http_header *reply_headers;
	size_t reply_header_count;
	size_t reply_header_bytes; /* that the block takes */
	bool replied; /* something of a reply came, also if the call has failed; with libcurl, a
	                 line at least */
	/* How long to wait before trying again, as a reply 429 or 503 asks (RFC 9110, 10.2.3); 0: a
	 * moment that has passed. */
	bool has_retry_after;
	unsigned retry_after_s;
	/* How often it was tried: whatever a client does to look up, connect and send is one, also
	 * if a kept connection proves to be closed and it sends again. 0: it has not got that far,
	 * but waited for a permit or for room for a connection, say. */
	unsigned attempts;
	int64_t elapsed_ns; /* from start to the last byte, or to the failure */

	/* For clients/ alone. */
	struct deadline until; /* what http_call() was given */
	int64_t started_ns;    /* when the call started */
	size_t memory_taken;   /* of @memory; bytes */
};

struct http_client {
	const struct http_client_ops *ops;
};

struct http_client_ops {
	const char *name;
	size_t call_bytes; /* see http_call_memory_bytes() */
	/* @deadline has the call's timeout in it, and has not passed; the task is not cancelled. */
	enum http_failure (*call)(struct http_client *client, struct http_call *call,
	                          struct deadline deadline);
	/* NULL: there is nothing to do. */
	void (*tick)(struct http_client *client);
	void (*destroy)(struct http_client *client);
};

/**
 * Make @call and return when it has an outcome.
 *
 * Returns what it leaves in call->failure. A reply with status 500 is a whole
 * reply: HTTP_OK. After @deadline it is HTTP_TIMEOUT; once the task is cancelled,
 * HTTP_CANCELED, or HTTP_TIMEOUT if the reason is CANCEL_DEADLINE.
 *
 * Task only; parks. Any number of tasks at once.
 */
enum http_failure http_call(struct http_client *client, struct http_call *call,
                            struct deadline deadline);

/** For a client that passes calls on to another one: start @call there now, whatever time has
 * passed since http_call(). Returns what the other's ops->call() does. */
enum http_failure http_call_pass_on(struct http_client *client, struct http_call *call);

/** The same for one that lets no time pass before: with the @deadline that it was given itself. */
enum http_failure http_call_pass_straight(struct http_client *client, struct http_call *call,
                                          struct deadline deadline);

/** For one that passes a call on a second time: forget the first outcome, but for attempts. */
void http_call_forget(struct http_call *call);

/** Have at least @bytes of @call's memory taken for what it keeps. False: there is too little left,
 * and what was taken before still is. Any thread. */
static inline bool http_call_take_memory(struct http_call *call, size_t bytes)
{
	if (!call->memory || bytes <= call->memory_taken)
		return true;
	if (!reply_memory_take(call->memory, bytes - call->memory_taken))
		return false;
	call->memory_taken = bytes;
	return true;
}

/** About how much memory a call of @client to @url takes while it is made, without its reply: what
 * the kernel keeps for a connection, both ends of it as if the other one were on this machine, too,
 * and what the client does. Any thread. */
size_t http_call_memory_bytes(const struct http_client *client, const char *url);

/** Whether @call may be sent twice: its method is idempotent (RFC 9110, 9.2.2), or it says so
 * itself. Any thread. */
bool http_call_is_repeatable(const struct http_call *call);

/** About once a second, whether there are calls or not: give up what is idle for too long and no
 * carrier looks after. Any thread; never waits. */
void http_client_tick(struct http_client *client);

/** Free what the outcome owns. Fine on a zeroed call, and twice. */
void http_call_finish(struct http_call *call);

/** No call may be in progress. NULL is ignored. */
void http_client_destroy(struct http_client *client);

#endif
