#ifndef HANDLERS_CPU_H
#define HANDLERS_CPU_H

#include "handlers/batch_request.h"
#include "handlers/handler.h"

/**
 * GET /cpu?n=1000&iterations=10000000: n child tasks, each of which adds the numbers below
 * iterations, 1 … 10^11, default 10^7, one by one and without a wait. One that the
 * deadline or a cancellation ends before its sum is complete has failed.
 *
 * On success *@out is the caller's, to be given to handler_destroy(). Returns 0 or -ENOMEM.
 */
int cpu_handler_create(const struct batch_limits *limits, struct handler **out);

#endif
