#ifndef TESTS_STRESS_SHARED_H
#define TESTS_STRESS_SHARED_H

#include <stdint.h>

/*
 * What tasks of all executors share: a semaphore, a mutex, a condition, channels
 * and the offload lanes. Each function is a step of a task: it draws from @state
 * what it does, and lasts a millisecond or so.
 */
void shared_start(void);

/** No task is left: what came in has gone out. */
void shared_finish(void);

/** Change the number of threads for computing. One thread at a time. */
void shared_resize(unsigned cpus);

void shared_pass_semaphore(uint64_t *state);
void shared_pass_mutex(uint64_t *state);
void shared_use_condition(uint64_t *state);
void shared_use_channel(uint64_t *state);
void shared_offload(uint64_t *state);

#endif
