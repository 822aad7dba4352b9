#ifndef HANDLERS_SLEEP_H
#define HANDLERS_SLEEP_H

#include "handlers/batch_request.h"
#include "handlers/handler.h"

/**
 * GET /sleep?n=10000&ms=100: n child tasks that wait for ms, 0 … 600000, default 100.
 *
 * On success *@out is the caller's, to be given to handler_destroy(). Returns 0 or -ENOMEM.
 */
int sleep_handler_create(const struct batch_limits *limits, struct handler **out);

#endif
