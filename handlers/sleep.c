#include "handlers/sleep.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_MS = 600000, DEFAULT_MS = 100 };

struct sleep_handler {
	struct handler handler;
	struct batch_limits limits;
};

struct sleep_work {
	struct batch_work work; /* first */
	int64_t ms;
};

static void sleep_child(struct batch_child *child, const struct batch_work *work)
{
	int64_t started_ns = deadline_now_ns();
	struct deadline end = {started_ns + ((const struct sleep_work *)work)->ms * 1000000};
	int error;

	batch_enter(child->batch);
	error = task_sleep_until(deadline_earlier(end, task_deadline()));
	batch_leave(child->batch);
	child->elapsed_ns = deadline_now_ns() - started_ns;
	if (error || task_deadline().ns < end.ns)
		child->outcome = batch_outcome_of_end();
}

static void sleep_serve(struct handler *handler, const struct request *request,
                        struct response *response)
{
	struct sleep_handler *self = (struct sleep_handler *)handler;
	enum { N, MS, DEADLINE, EXECUTOR, COUNT };
	struct query_parameter table[COUNT] = {
		[N] = batch_parameter_n(&self->limits),
		[MS] = {"ms", .max = MAX_MS, .number = DEFAULT_MS},
		[DEADLINE] = batch_parameter_deadline(&self->limits),
		[EXECUTOR] = batch_parameter_executor(&self->limits),
	};
	struct sleep_work sleeper = {.work = {sleep_child, "sleep", NULL, 0}};
	struct batch_request wanted = {.limits = &self->limits, .work = &sleeper.work};
	struct query_error error;

	if (query_read(request->query, table, COUNT, &error)) {
		response_bad_query(response, &error);
		return;
	}
	sleeper.ms = (int64_t)table[MS].number;
	wanted.n = (unsigned)table[N].number;
	wanted.deadline_ms = (int64_t)table[DEADLINE].number;
	batch_respond(&wanted, request, response);
}

static void sleep_destroy(struct handler *handler)
{
	free(handler); /* the first member of its struct */
}

int sleep_handler_create(const struct batch_limits *limits, struct handler **out)
{
	struct sleep_handler *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->handler = (struct handler){"GET", "/sleep", sleep_serve, sleep_destroy};
	self->limits = *limits;
	*out = &self->handler;
	return 0;
}
