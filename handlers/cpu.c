#include "handlers/cpu.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_ITERATIONS UINT64_C(100000000000)
#define DEFAULT_ITERATIONS UINT64_C(10000000)

#define STEPS_BETWEEN_LOOKS UINT64_C(65536) /* tens of microseconds */

struct cpu_handler {
	struct handler handler;
	struct batch_limits limits;
};

struct cpu_work {
	struct batch_work work; /* first */
	uint64_t iterations;
};

/* The deadline is looked at, too: a parent that runs this child in its own place cannot cancel it
 * meanwhile. */
static bool must_end(void)
{
	return task_cancel_reason() != CANCEL_NONE || deadline_remaining_ns(task_deadline()) == 0;
}

static uint64_t add_range(uint64_t sum, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		sum += i;
		/* As far as the compiler knows, this changes the sum: there is no closed form, and
		 * no step that can be left out. */
		__asm__("" : "+r"(sum));
	}
	return sum;
}

static void cpu_child(struct batch_child *child, const struct batch_work *work)
{
	uint64_t iterations = ((const struct cpu_work *)work)->iterations;
	int64_t started_ns = deadline_now_ns();
	uint64_t sum = 0, done = 0;

	batch_enter(child->batch);
	while (done < iterations && !must_end()) {
		uint64_t left = iterations - done;
		uint64_t steps = left < STEPS_BETWEEN_LOOKS ? left : STEPS_BETWEEN_LOOKS;

		sum = add_range(sum, done, done + steps);
		done += steps;
	}
	batch_leave(child->batch);
	child->elapsed_ns = deadline_now_ns() - started_ns;
	if (done < iterations)
		child->outcome = batch_outcome_of_end();
	else
		/* Gauss, modulo 2^64: one of the two factors is even. */
		assert(sum == (iterations % 2 ? iterations * ((iterations - 1) / 2)
		                              : iterations / 2 * (iterations - 1)));
}

static void cpu_serve(struct handler *handler, const struct request *request,
                      struct response *response)
{
	struct cpu_handler *self = (struct cpu_handler *)handler;
	enum { N, ITERATIONS, DEADLINE, EXECUTOR, COUNT };
	struct query_parameter table[COUNT] = {
		[N] = batch_parameter_n(&self->limits),
		[ITERATIONS] = {"iterations", .min = 1, .max = MAX_ITERATIONS,
	                        .number = DEFAULT_ITERATIONS},
		[DEADLINE] = batch_parameter_deadline(&self->limits),
		[EXECUTOR] = batch_parameter_executor(&self->limits),
	};
	struct cpu_work adder = {.work = {cpu_child, "cpu", NULL, 0}};
	struct batch_request wanted = {.limits = &self->limits, .work = &adder.work};
	struct query_error error;

	if (query_read(request->query, table, COUNT, &error)) {
		response_bad_query(response, &error);
		return;
	}
	adder.iterations = table[ITERATIONS].number;
	wanted.n = (unsigned)table[N].number;
	wanted.deadline_ms = (int64_t)table[DEADLINE].number;
	batch_respond(&wanted, request, response);
}

static void cpu_destroy(struct handler *handler)
{
	free(handler); /* the first member of its struct */
}

int cpu_handler_create(const struct batch_limits *limits, struct handler **out)
{
	struct cpu_handler *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->handler = (struct handler){"GET", "/cpu", cpu_serve, cpu_destroy};
	self->limits = *limits;
	*out = &self->handler;
	return 0;
}
