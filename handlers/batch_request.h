#ifndef HANDLERS_BATCH_REQUEST_H
#define HANDLERS_BATCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/batch.h"
#include "handlers/handler.h"
#include "handlers/query.h"

/*
 * From a request to its answer by way of a batch: what the endpoints that split
 * their work into child tasks have in common.
 */

/** What such an endpoint is told by the server. */
struct batch_limits {
	unsigned max_n;          /* largest n of one request, at least 1 */
	int64_t deadline_ms;     /* default and upper bound of deadline_ms */
	size_t max_memory_bytes; /* per request, replies and answer together */
	struct memory_budget
		*memory; /* that all requests have together; borrowed. NULL: no limit */
	const char *const *executors; /* the names that `executor` may have, NULL at the end;
	                                 NULL: the parameter is refused. Borrowed */
};

/** The parameters that they all have, for a table of query_read(): n, 1 … max_n, which must be
 * given; deadline_ms, 1 … the limit; executor, checked here and acted on at submission. */
struct query_parameter batch_parameter_n(const struct batch_limits *limits);
struct query_parameter batch_parameter_deadline(const struct batch_limits *limits);
struct query_parameter batch_parameter_executor(const struct batch_limits *limits);

/** What one request asks for. Borrowed. */
struct batch_request {
	const struct batch_limits *limits;
	const struct batch_work *work;
	unsigned n;
	int64_t deadline_ms;   /* of the request, from its arrival */
	unsigned max_parallel; /* children at once; 0 is no limit */
	bool detail;           /* tell of the children one by one, too */
};

/**
 * Run the batch and answer: 200 whatever became of the children; 503 if there is no memory for
 * it, or if none succeeded and all were turned away. Task only; parks.
 */
void batch_respond(const struct batch_request *wanted, const struct request *request,
                   struct response *response);

/** Answer 503: there is no room at the moment. @detail is UTF-8. */
void batch_respond_overloaded(struct response *response, const char *detail);

/** The same, as "the @what more than …": "calls need". */
void batch_respond_over_memory(struct response *response, const char *what,
                               const struct batch_limits *limits);

#endif
