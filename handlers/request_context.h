#ifndef HANDLERS_REQUEST_CONTEXT_H
#define HANDLERS_REQUEST_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "executors/task_context.h"
#include "handlers/handler.h"

/*
 * Which request this is: its id (X-Request-Id) and its place in a distributed
 * trace (W3C Trace Context, https://www.w3.org/TR/trace-context/). The server
 * binds one around serve(), so it need not be passed on: what handles the request,
 * and every task below, finds it with request_context_current().
 *
 * Constant once bound, so any number of tasks read it.
 */
enum {
	REQUEST_ID_BYTES = 33,  /* of one that is made here: 32 hex digits, NUL */
	REQUEST_ID_MAX = 128,   /* characters of one that a client gives */
	TRACESTATE_MAX = 512,   /* characters; what §3.3.1.5 wants to see passed on at least */
	TRACE_ID_BYTES = 33,    /* 32 hex digits, NUL */
	TRACEPARENT_BYTES = 56, /* "00-TRACE-SPAN-FLAGS", NUL */
};

struct request_context {
	const char *request_id;         /* borrowed from the request, or made_id */
	const char *tracestate;         /* borrowed from the request; NULL: none */
	uint64_t span_seed;             /* what span ids are made from */
	char made_id[REQUEST_ID_BYTES]; /* "": the client has given one */
	char trace_id[TRACE_ID_BYTES];  /* lower case */
	bool is_sampled;                /* the trace is being recorded by who began it */
};

/**
 * Take over what @request says, and make up the rest from @random, which is different for each
 * request. Borrows @request.
 *
 * An X-Request-Id of 1 … REQUEST_ID_MAX letters, digits and -._~+/=:@ is kept. A traceparent is
 * kept if it is valid (§3.2), comes once and is of a version that is known or can be read as 00;
 * then a tracestate that comes once and is no longer than TRACESTATE_MAX is, too: each call has a
 * copy of it. Otherwise a new trace begins, not sampled.
 */
void request_context_init(struct request_context *context, const struct request *request,
                          const uint64_t random[4]);

/** The context of the request that the calling task works for; NULL outside of one. Task only. */
const struct request_context *request_context_current(void);

/** What the server binds it with. */
extern const struct task_key request_context_key;

/** The traceparent of the request's own span, which an answer names. */
void request_context_traceparent(const struct request_context *context,
                                 char text[TRACEPARENT_BYTES]);

/** The headers by which a call says what it belongs to; the first two are the context's. */
struct request_context_call {
	const char *request_id;              /* for X-Request-Id */
	const char *tracestate;              /* for tracestate; NULL: to be left out */
	char traceparent[TRACEPARENT_BYTES]; /* for traceparent; its span id is the call's alone */
};

/** Fill @out for the request's call @number, which tells its calls apart, counted from 0. */
void request_context_call(const struct request_context *context, uint64_t number,
                          struct request_context_call *out);

#endif
