#ifndef HANDLERS_FANOUT_PARAMETERS_H
#define HANDLERS_FANOUT_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "handlers/fanout.h"
#include "handlers/query.h"

/** The query of GET /fanout. */
struct fanout_parameters {
	unsigned n;            /* 1 … max_n; the one that must be given */
	unsigned delay_ms;     /* 0 … 600000; default 1000 */
	int64_t timeout_ms;    /* 1 … call_timeout_ms, the default */
	int64_t deadline_ms;   /* 1 … deadline_ms of the options, the default */
	unsigned max_parallel; /* 1 … max_n; 0, the default, is no limit */
	uint64_t cpu_us;       /* 0 … 1000000; default 0. Experiments only */
	bool detail;           /* 0 or 1; default 0 */
	/* `executor` is checked, too, but was acted on when the task was submitted. */
};

/** Returns 0, or -EINVAL with @error filled and @parameters untouched. Any thread. */
int fanout_parameters_read(const char *query, const struct fanout_options *options,
                           struct fanout_parameters *parameters, struct query_error *error);

#endif
