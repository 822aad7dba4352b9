#ifndef TESTS_STRESS_ALONE_H
#define TESTS_STRESS_ALONE_H

#include <stdint.h>

/*
 * Steps of a task that concern itself, its carrier and its thread. Each draws
 * from @state what it does.
 */
void alone_start(void);

/** No task is left. */
void alone_finish(void);

/** Wait for a thread that is no executor's. */
void alone_be_woken_from_outside(uint64_t *state);

/** Wait for a socket of its own: what was written may be read, or the wait for it cut short. */
void alone_talk_to_itself(uint64_t *state);

/** Set a timer of the carrier, and wait for it or unset it. */
void alone_set_alarm(uint64_t *state);

/** Keep the carrier for up to 4 ms, which is beyond the threshold: in the kernel, for a lock, or
 * computing. */
void alone_keep_carrier(uint64_t *state);

#endif
