#ifndef EXECUTORS_COROUTINE_TASK_DUMP_H
#define EXECUTORS_COROUTINE_TASK_DUMP_H

#include "executors/task_dump.h"

/*
 * How the coroutines of an executor get into a picture (executors/task_dump.h):
 * each carrier lists its own, since nobody else may touch them.
 */
struct coroutine_carrier;
struct executor;

/** struct executor_ops */
int coroutine_dump_tasks(struct executor *base, struct task_dump *dump);

/** List some coroutines of @carrier for the request that waits in carrier->dump, if it still
 * does. On the carrier. */
void coroutine_dump_slice(struct coroutine_carrier *carrier);

#endif
