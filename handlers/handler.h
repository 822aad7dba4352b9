#ifndef HANDLERS_HANDLER_H
#define HANDLERS_HANDLER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "executors/deadline.h"
#include "executors/memory_budget.h"
#include "handlers/query.h"

/*
 * What an endpoint sees of a request, and how it answers. Knows nothing of h2o:
 * server/exchange.c copies across, so a request stays valid for as long as the
 * handler runs even if the peer has gone.
 *
 * An answer is given whole, by one of response_json(), response_problem() or the
 * fields themselves, or it is streamed: response_stream_begin().
 */
struct request {
	const char *method; /* "GET" */
	const char *path;   /* percent-decoded, without the query */
	const char *query;  /* raw, without the '?'; "" when absent */
	const char *body;   /* body_len bytes, then a NUL; "" unless the handler takes one */
	size_t body_len;
	struct deadline deadline; /* pass this on to every wait */
	const char *headers;      /* "name\0value\0" of each, then one more NUL; see
	                             request_header(). NULL: none */
};

/**
 * The value of a header; if it came several times, of the first. NULL without one. @name in any
 * case. Those that are about the connection or the body's length (Host, Content-Length,
 * Transfer-Encoding, Expect, Upgrade) are the server's, and not among them.
 */
const char *request_header(const struct request *request, const char *name);

/** The value of the next @name after @previous, which is what this has returned; NULL: none. */
const char *request_header_next(const struct request *request, const char *name,
                                const char *previous);

struct response;

/** The server's part of a streamed answer; never called but by response_stream_…(). */
struct response_stream_ops {
	/* Make ready to send the head that is in @response. 0 or -ENOMEM. */
	int (*begin)(struct response *response);
	/* See response_stream_write(). */
	int (*write)(struct response *response, const void *data, size_t len,
	             struct deadline deadline);
};

/** Zeroed means "nothing answered", which the server turns into a 500. */
struct response {
	int status;
	const char *content_type; /* static text */
	char *headers;            /* owned; "name\0value\0" of each. See response_add_header() */
	size_t headers_len;       /* bytes of all of them */
	char *body;               /* owned; malloc'd. NULL when there was no memory for one */
	size_t body_len;
	struct memory_budget *memory; /* that @memory_taken goes back to with the body; borrowed */
	size_t memory_taken;          /* see admission_leave() */

	const struct response_stream_ops *stream_ops; /* NULL: cannot be streamed */
	bool is_streamed;                             /* the body is what has been written */
	int stream_error;                             /* why it is incomplete; 0: it is not */
};

/** Answer with @body, which is consumed, also on failure (then a bare 500). NULL is a failure. */
void response_json(struct response *response, int status, json_t *body);

/**
 * Answer application/problem+json (RFC 9457), of type about:blank: its title is
 * the phrase of @status. @parameter is the query parameter at fault, or NULL;
 * it and the detail are UTF-8. A bare 500 if memory runs out.
 */
void response_problem(struct response *response, int status, const char *parameter,
                      const char *detail_format, ...) __attribute__((format(printf, 4, 5)));

/** Answer 400 with what query_read() found wrong. */
void response_bad_query(struct response *response, const struct query_error *error);

/**
 * Add a header; both texts are copied. After the answer itself has been given, since that drops
 * what was there, or before response_stream_begin(). There may be any number, also of one name.
 *
 * It is one that http_header_is_valid(): what comes from elsewhere is checked before. A bare 500 if
 * memory runs out.
 */
void response_add_header(struct response *response, const char *name, const char *value);

/**
 * Go through the added headers: *@place is 0 for the first one. Both texts are borrowed. False:
 * there is none left, and @name and @value are untouched.
 */
bool response_next_header(const struct response *response, size_t *place, const char **name,
                          const char **value);

/** The value of the first added header @name, in any case; NULL: there is none. Borrowed. */
const char *response_header(const struct response *response, const char *name);

/**
 * Begin an answer whose body is sent as it is written; its head goes out with the first byte, or
 * with the end. The body ends when serve() returns. @content_type is static text.
 *
 * Once, in place of any other answer; headers that were added before are kept. Returns 0; -ENOTSUP
 * this answer cannot be streamed; -ENOMEM: then another answer may still be given.
 */
int response_stream_begin(struct response *response, int status, const char *content_type);

/**
 * Append a copy of @len bytes to the body. While 64 KiB or more wait for the client, waits until
 * @deadline for it to take some; if there is room the bytes go, even if @deadline has passed. So
 * never more is held for it than 64 KiB and one write. One task at a time; parks. It does not end
 * because the task is cancelled, so that the last words of a shutdown can be said; but a client
 * that goes ends it at once.
 *
 * Returns 0; -ECANCELED the client has gone, or the server has given the answer up (500 ms after
 * the request's deadline, or at the end of a shutdown); -ETIMEDOUT; -ENOMEM. After an error nothing
 * more is sent, every later write returns the same, and the connection is cut at the end of
 * serve(), so that the client sees that the body is incomplete.
 */
int response_stream_write(struct response *response, const void *data, size_t len,
                          struct deadline deadline);

/** Have the stream end as after an error: what was sent is incomplete, and @error, negative, says
 * why. Does nothing if it has failed before. */
void response_stream_fail(struct response *response, int error);

/** Free what the answer owns; it is as if nothing had been answered. */
void response_finish(struct response *response);

/**
 * One endpoint. Embed it in a struct of your own for state.
 *
 * @serve runs on many tasks at once: whatever it reaches through @handler is
 * read-only after creation, or guarded by the handler itself. It answers by
 * filling @response exactly once, or by streaming, and reports errors no other
 * way.
 */
struct handler {
	const char *method;
	const char *path; /* exact match */
	void (*serve)(struct handler *handler, const struct request *request,
	              struct response *response);
	void (*destroy)(struct handler *handler);
	const char *takes; /* media type of the body, "application/json": one of another type is
	                      refused with 415. NULL: a body is ignored */
};

/** No request may be in progress. NULL is ignored. */
void handler_destroy(struct handler *handler);

#endif
