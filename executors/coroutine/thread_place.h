#ifndef EXECUTORS_COROUTINE_THREAD_PLACE_H
#define EXECUTORS_COROUTINE_THREAD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "executors/executor.h"

/* Where a thread of this process stands, as the kernel tells it: /proc/self/task/TID/syscall. To
 * ask has no effect on the thread. */
struct thread_place {
	bool is_running;       /* or about to: the kernel knows nothing else then */
	enum pinned_kind kind; /* a guess without /proc */
	uintptr_t sp, pc;      /* of a thread that sleeps; 0: not known */
	long call;             /* its system call, and the arguments; -1: none */
	uintptr_t arguments[6];
};

void thread_place_read(int tid, struct thread_place *out);

/** Whether a thread that sleeps has most likely not run between the two. */
bool thread_place_is_same(const struct thread_place *one, const struct thread_place *other);

#endif
