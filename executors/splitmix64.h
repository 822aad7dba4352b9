#ifndef EXECUTORS_SPLITMIX64_H
#define EXECUTORS_SPLITMIX64_H

#include <stdint.h>

/**
 * The next of a sequence of random numbers that can be repeated: SplitMix64 (Steele, Lea and Flood,
 * OOPSLA 2014). *@state is where it has got to, at first any seed; guarded by its owner. Different
 * states give different numbers. Nothing that must not be foreseen is made of it.
 */
static inline uint64_t splitmix64_next(uint64_t *state)
{
	uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
	return mixed ^ (mixed >> 31);
}

#endif
