#ifndef HANDLERS_OVERFLOW_H
#define HANDLERS_OVERFLOW_H

#include "handlers/handler.h"

/**
 * GET /debug/overflow needs more stack than there is: the process ends, saying which task did it.
 *
 * NULL in builds without debugging endpoints (meson: debug_endpoints). Static.
 */
extern struct handler *const overflow_handler;

#endif
