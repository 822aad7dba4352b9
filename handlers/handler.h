#ifndef HANDLERS_HANDLER_H
#define HANDLERS_HANDLER_H

#include <jansson.h>
#include <stddef.h>

#include "executors/deadline.h"
#include "handlers/query.h"

/*
 * What an endpoint sees of a request, and how it answers. Knows nothing of h2o:
 * server/exchange.c copies across, so a request stays valid for as long as the
 * handler runs even if the peer has gone.
 */
struct request {
	const char *method; /* "GET" */
	const char *path;   /* percent-decoded, without the query */
	const char *query;  /* raw, without the '?'; "" when absent */
	const char *body;   /* body_len bytes, then a NUL */
	size_t body_len;
	struct deadline deadline; /* pass this on to every wait */
};

/** Zeroed means "nothing answered", which the server turns into a 500. */
struct response {
	int status;
	const char *content_type; /* static text */
	const char *headers[4]; /* name, value, …, NULL: Allow, Retry-After; static or owned by the
	                           handler. See response_set_header() */
	char *body;             /* owned; malloc'd. NULL when there was no memory for one */
	size_t body_len;
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

/** Add a header to an answer; both texts are borrowed until response_finish(). At most one, after
 * the answer itself has been given. */
void response_set_header(struct response *response, const char *name, const char *value);

/** The phrase of RFC 9110 for @status: "Not Found"; "Unknown" if it has none. Static. */
const char *response_phrase(int status);

/** Free what the answer owns; it is as if nothing had been answered. */
void response_finish(struct response *response);

/**
 * One endpoint. Embed it in a struct of your own for state.
 *
 * @serve runs on many tasks at once: whatever it reaches through @handler is
 * read-only after creation, or guarded by the handler itself. It answers by
 * filling @response exactly once and reports errors no other way.
 */
struct handler {
	const char *method;
	const char *path; /* exact match */
	void (*serve)(struct handler *handler, const struct request *request,
	              struct response *response);
	void (*destroy)(struct handler *handler);
};

/** No request may be in progress. NULL is ignored. */
void handler_destroy(struct handler *handler);

#endif
