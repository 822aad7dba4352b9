#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "executors/coroutine/context.h"

/*
 * What tests/unit/test_context.c checks, for an architecture that has no cmocka
 * here, and of each register that the ABI says a call preserves: TAP.
 */
enum { STACK_BYTES = 64 * 1024, ROUNDS = 10000 };

struct sides {
	struct context caller, callee;
	struct sides *argument; /* the callee's, as the rest */
	uintptr_t frame;
	long rounds;
	double sum;
	int lost;
};

static _Alignas(64) char stack[STACK_BYTES];
static int checks, failures;

static void check(bool holds, const char *what)
{
	if (!holds)
		failures++;
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++checks, what);
}

/* Has more values live across the switch than there are registers that a call preserves; the other
 * side has others. Returns how many are not as they were. */
static __attribute__((noinline)) int switch_with_registers(struct context *from, struct context *to,
                                                           uint64_t seed)
{
	uint64_t x19 = seed + 19;
	uint64_t x20 = seed + 20;
	uint64_t x21 = seed + 21;
	uint64_t x22 = seed + 22;
	uint64_t x23 = seed + 23;
	uint64_t x24 = seed + 24;
	uint64_t x25 = seed + 25;
	uint64_t x26 = seed + 26;
	uint64_t x27 = seed + 27;
	uint64_t x28 = seed + 28;
	double d8 = (double)seed + 0.8;
	double d9 = (double)seed + 0.9;
	double d10 = (double)seed + 0.10;
	double d11 = (double)seed + 0.11;
	double d12 = (double)seed + 0.12;
	double d13 = (double)seed + 0.13;
	double d14 = (double)seed + 0.14;
	double d15 = (double)seed + 0.15;

	__asm__ volatile(""
	                 : "+r"(x19), "+r"(x20), "+r"(x21), "+r"(x22), "+r"(x23), "+r"(x24),
	                   "+r"(x25), "+r"(x26), "+r"(x27), "+r"(x28));
	__asm__ volatile(""
	                 : "+w"(d8), "+w"(d9), "+w"(d10), "+w"(d11), "+w"(d12), "+w"(d13),
	                   "+w"(d14), "+w"(d15));
	context_switch(from, to);
	__asm__ volatile(""
	                 : "+r"(x19), "+r"(x20), "+r"(x21), "+r"(x22), "+r"(x23), "+r"(x24),
	                   "+r"(x25), "+r"(x26), "+r"(x27), "+r"(x28));
	__asm__ volatile(""
	                 : "+w"(d8), "+w"(d9), "+w"(d10), "+w"(d11), "+w"(d12), "+w"(d13),
	                   "+w"(d14), "+w"(d15));
	return (x19 != seed + 19) + (x20 != seed + 20) + (x21 != seed + 21) + (x22 != seed + 22) +
	       (x23 != seed + 23) + (x24 != seed + 24) + (x25 != seed + 25) + (x26 != seed + 26) +
	       (x27 != seed + 27) + (x28 != seed + 28) + (d8 != (double)seed + 0.8) +
	       (d9 != (double)seed + 0.9) + (d10 != (double)seed + 0.10) +
	       (d11 != (double)seed + 0.11) + (d12 != (double)seed + 0.12) +
	       (d13 != (double)seed + 0.13) + (d14 != (double)seed + 0.14) +
	       (d15 != (double)seed + 0.15);
}

static void callee_main(void *arg)
{
	struct sides *sides = arg;
	double step = 0.5;

	sides->argument = arg;
	sides->frame = (uintptr_t)__builtin_frame_address(0);
	for (uint64_t round = 0;; round++) {
		sides->rounds++;
		sides->sum += step;
		sides->lost +=
			switch_with_registers(&sides->callee, &sides->caller, 1000000 + round);
	}
}

int main(void)
{
	struct sides sides = {0};
	int lost = 0;

	printf("1..6\n");
	context_init(&sides.callee, stack + sizeof(stack), callee_main, &sides);
	for (uint64_t round = 0; round < ROUNDS; round++)
		lost += switch_with_registers(&sides.caller, &sides.callee, round);
	check(sides.argument == &sides, "the entry gets its argument");
	check(sides.frame >= (uintptr_t)stack && sides.frame < (uintptr_t)stack + sizeof(stack),
	      "the new stack is used");
	check(sides.frame % 16 == 0, "it is aligned");
	check(sides.rounds == ROUNDS && sides.sum == ROUNDS * 0.5, "each switch arrives");
	check(lost == 0, "the caller's registers survive");
	check(sides.lost == 0, "the callee's registers survive");
	return failures > 0;
}
