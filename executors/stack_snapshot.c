#include "executors/stack_snapshot.h"

/* What the thread on that stack writes meanwhile, and the sanitizers' red zones, are read as they
 * are: word by word, by no atomic load and no memcpy(), which the thread sanitizer would see even
 * here. */
static __attribute__((noinline, no_sanitize("address", "thread"))) unsigned
copy(uintptr_t *to, const uintptr_t *from, uintptr_t end)
{
	unsigned count = 0;

	while (count < STACK_SNAPSHOT_WORDS && (uintptr_t)(from + count + 1) <= end) {
		uintptr_t word = from[count];

		__asm__ volatile("" : "+r"(word));
		to[count++] = word;
	}
	return count;
}

void stack_snapshot_take(struct stack_snapshot *snapshot, const struct stack_registers *at,
                         uintptr_t end)
{
	snapshot->registers = *at;
	snapshot->count = copy(snapshot->words, (const uintptr_t *)at->sp, end);
}
