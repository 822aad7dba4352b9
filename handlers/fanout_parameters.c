#include "handlers/fanout_parameters.h"

#include <errno.h>

enum { MAX_DELAY_MS = 600000, DEFAULT_DELAY_MS = 1000, MAX_CPU_US = 1000000 };

int fanout_parameters_read(const char *query, const struct fanout_options *options,
                           struct fanout_parameters *parameters, struct query_error *error)
{
	const uint64_t max_timeout_ms = (uint64_t)options->call_timeout_ms;
	const uint64_t max_deadline_ms = (uint64_t)options->deadline_ms;
	enum { N, DELAY, TIMEOUT, DEADLINE, PARALLEL, EXECUTOR, DETAIL, CPU, COUNT };
	struct query_parameter table[COUNT] = {
		[N] = {"n", .required = true, .min = 1, .max = options->max_n},
		[DELAY] = {"delay_ms", .max = MAX_DELAY_MS, .number = DEFAULT_DELAY_MS},
		[TIMEOUT] = {"timeout_ms", .min = 1, .max = max_timeout_ms,
	                     .number = max_timeout_ms},
		[DEADLINE] = {"deadline_ms", .min = 1, .max = max_deadline_ms,
	                      .number = max_deadline_ms},
		[PARALLEL] = {"max_parallel", .max = options->max_n},
		[EXECUTOR] = {"executor", .kind = QUERY_WORD, .words = options->executors},
		[DETAIL] = {"detail", .max = 1},
		[CPU] = {"cpu_us", .max = MAX_CPU_US},
	};

	if (!options->executors)
		table[EXECUTOR].refused = "needs --compare";
	if (!options->experiments)
		table[CPU].refused = "needs --experiments";
	if (query_read(query, table, COUNT, error))
		return -EINVAL;
	*parameters = (struct fanout_parameters){
		.n = (unsigned)table[N].number,
		.delay_ms = (unsigned)table[DELAY].number,
		.timeout_ms = (int64_t)table[TIMEOUT].number,
		.deadline_ms = (int64_t)table[DEADLINE].number,
		.max_parallel = (unsigned)table[PARALLEL].number,
		.cpu_us = table[CPU].number,
		.detail = table[DETAIL].number == 1,
	};
	return 0;
}
