#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "executors/coroutine/context.h"

/*
 * What tests/unit/test_context.c checks, for an architecture that has no cmocka
 * here, and of each register that the ABI says a call preserves: TAP.
 */
enum { STACK_BYTES = 64 * 1024, ROUNDS = 10000 };

static _Alignas(64) char stack[STACK_BYTES];
static struct context caller, callee;
static void *argument;
static uintptr_t frame;
static long callee_rounds;
static double callee_sum;
static int checks, failures;

static void check(bool holds, const char *what)
{
	if (!holds)
		failures++;
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++checks, what);
}

/* Fills every register that a call preserves; the other side fills them anew. Returns how many
 * are not as they were. */
static __attribute__((noinline)) int switch_with_registers(struct context *from, struct context *to,
                                                           uint64_t seed)
{
	register uint64_t x19 __asm__("x19") = seed + 19;
	register uint64_t x20 __asm__("x20") = seed + 20;
	register uint64_t x21 __asm__("x21") = seed + 21;
	register uint64_t x22 __asm__("x22") = seed + 22;
	register uint64_t x23 __asm__("x23") = seed + 23;
	register uint64_t x24 __asm__("x24") = seed + 24;
	register uint64_t x25 __asm__("x25") = seed + 25;
	register uint64_t x26 __asm__("x26") = seed + 26;
	register uint64_t x27 __asm__("x27") = seed + 27;
	register uint64_t x28 __asm__("x28") = seed + 28;
	register double d8 __asm__("d8") = (double)seed + 0.8;
	register double d9 __asm__("d9") = (double)seed + 0.9;
	register double d10 __asm__("d10") = (double)seed + 0.10;
	register double d11 __asm__("d11") = (double)seed + 0.11;
	register double d12 __asm__("d12") = (double)seed + 0.12;
	register double d13 __asm__("d13") = (double)seed + 0.13;
	register double d14 __asm__("d14") = (double)seed + 0.14;
	register double d15 __asm__("d15") = (double)seed + 0.15;

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

static int callee_lost;

static void callee_main(void *arg)
{
	double step = 0.5;

	argument = arg;
	frame = (uintptr_t)__builtin_frame_address(0);
	for (uint64_t round = 0;; round++) {
		callee_rounds++;
		callee_sum += step;
		callee_lost += switch_with_registers(&callee, &caller, 1000000 + round);
	}
}

int main(void)
{
	int lost = 0;

	printf("1..6\n");
	context_init(&callee, stack + sizeof(stack), callee_main, &caller);
	for (uint64_t round = 0; round < ROUNDS; round++)
		lost += switch_with_registers(&caller, &callee, round);
	check(argument == &caller, "the entry gets its argument");
	check(frame >= (uintptr_t)stack && frame < (uintptr_t)stack + sizeof(stack),
	      "the new stack is used");
	check(frame % 16 == 0, "it is aligned");
	check(callee_rounds == ROUNDS && callee_sum == ROUNDS * 0.5, "each switch arrives");
	check(lost == 0, "the caller's registers survive");
	check(callee_lost == 0, "the callee's registers survive");
	return failures > 0;
}
