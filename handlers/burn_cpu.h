#ifndef HANDLERS_BURN_CPU_H
#define HANDLERS_BURN_CPU_H

#include <stdint.h>

/**
 * Use @us microseconds of CPU time on the calling thread, as a computation would: without a wait,
 * however long others keep the CPU from it. Ends early once the task is cancelled
 * or its deadline has passed. Task only.
 */
void burn_cpu(uint64_t us);

#endif
