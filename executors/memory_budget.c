#include "executors/memory_budget.h"

#include <stdint.h>

static size_t load(const atomic_size_t *bytes)
{
	return atomic_load_explicit(bytes, memory_order_relaxed);
}

void memory_budget_init(struct memory_budget *budget)
{
	atomic_init(&budget->taken_bytes, 0);
	atomic_init(&budget->refused, 0);
	memory_budget_set(budget, SIZE_MAX, SIZE_MAX);
}

void memory_budget_set(struct memory_budget *budget, size_t limit_bytes, size_t room_bytes)
{
	atomic_store_explicit(&budget->limit_bytes, limit_bytes, memory_order_relaxed);
	atomic_store_explicit(&budget->room_bytes, room_bytes, memory_order_relaxed);
}

bool memory_budget_take(struct memory_budget *budget, size_t bytes, size_t *taken)
{
	size_t room = load(&budget->room_bytes);
	size_t before;

	*taken = 0;
	if (room == SIZE_MAX)
		return true;
	before = load(&budget->taken_bytes);
	do {
		if (before > room || bytes > room - before) {
			atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(&budget->taken_bytes, &before,
	                                                before + bytes, memory_order_relaxed,
	                                                memory_order_relaxed));
	*taken = bytes;
	return true;
}

void memory_budget_give(struct memory_budget *budget, size_t taken)
{
	if (taken > 0)
		atomic_fetch_sub_explicit(&budget->taken_bytes, taken, memory_order_relaxed);
}

size_t memory_budget_left(const struct memory_budget *budget)
{
	size_t room = load(&budget->room_bytes), taken = load(&budget->taken_bytes);

	if (room == SIZE_MAX)
		return SIZE_MAX;
	return taken < room ? room - taken : 0;
}
