#include "handlers/fanout_parameters.h"

#include <errno.h>

enum { MAX_DELAY_MS = 600000, DEFAULT_DELAY_MS = 1000, MAX_CPU_US = 1000000 };

int fanout_parameters_read(const char *query, const struct fanout_options *options,
                           struct fanout_parameters *parameters, struct query_error *error)
{
	const uint64_t max_timeout_ms = (uint64_t)options->call_timeout_ms;
	const struct batch_limits *limits = &options->limits;
	enum { N, DELAY, TIMEOUT, DEADLINE, PARALLEL, EXECUTOR, DETAIL, CPU, COUNT };
	struct query_parameter table[COUNT] = {
		[N] = batch_parameter_n(limits),
		[DELAY] = {"delay_ms", .max = MAX_DELAY_MS, .number = DEFAULT_DELAY_MS},
		[TIMEOUT] = {"timeout_ms", .min = 1, .max = max_timeout_ms,
	                     .number = max_timeout_ms},
		[DEADLINE] = batch_parameter_deadline(limits),
		[PARALLEL] = {"max_parallel", .max = limits->max_n},
		[EXECUTOR] = batch_parameter_executor(limits),
		[DETAIL] = {"detail", .max = 1},
		[CPU] = {"cpu_us", .max = MAX_CPU_US},
	};

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
