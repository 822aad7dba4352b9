#ifndef EXECUTORS_COROUTINE_HEAVY_H
#define EXECUTORS_COROUTINE_HEAVY_H

#include "executors/coroutine/carrier.h"

/*
 * The tasks of heavy classes (task_class.h) of one carrier that are ready and wait
 * for room beside it, first come, first served. On the carrier.
 */

/** @coroutine, which has left its stack, waits from now on. */
void heavy_push(struct coroutine_carrier *carrier, struct coroutine *coroutine);

/** Let those that wait go on beside the carrier, as far as there is room; one goes on upon it if
 * @is_idle, that is, if nothing else is ready, or if it has waited for long. */
void heavy_serve(struct coroutine_carrier *carrier, bool is_idle);

#endif
