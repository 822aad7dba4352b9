#include "executors/memory_budget.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* One part in so many is never counted on. */
enum { SPARE_PART = 20 };

static size_t load(const atomic_size_t *bytes)
{
	return atomic_load_explicit(bytes, memory_order_relaxed);
}

void memory_budget_init(struct memory_budget *budget)
{
	atomic_init(&budget->taken_bytes, 0);
	atomic_init(&budget->kept_bytes, 0);
	atomic_init(&budget->file_bytes, 0);
	atomic_init(&budget->refused, 0);
	budget->usage_fd = -1;
	memory_budget_set(budget, SIZE_MAX, SIZE_MAX);
}

void memory_budget_finish(struct memory_budget *budget)
{
	if (budget->usage_fd >= 0)
		close(budget->usage_fd);
	budget->usage_fd = -1;
}

void memory_budget_measure_by(struct memory_budget *budget, int usage_fd)
{
	if (budget->usage_fd < 0) {
		budget->usage_fd = usage_fd;
		return;
	}
	/* Under the same number, which others may be reading from. */
	(void)dup3(usage_fd, budget->usage_fd, O_CLOEXEC);
	close(usage_fd);
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

/* 0 if it is not known. */
static size_t used_bytes(const struct memory_budget *budget)
{
	size_t files = load(&budget->file_bytes), used;
	char text[32];
	ssize_t length = pread(budget->usage_fd, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return 0;
	text[length] = '\0';
	used = strtoull(text, NULL, 10);
	return used > files ? used - files : 0;
}

bool memory_budget_keep(struct memory_budget *budget, size_t bytes)
{
	size_t limit = load(&budget->limit_bytes);
	size_t kept = atomic_fetch_add_explicit(&budget->kept_bytes, bytes, memory_order_relaxed);

	if (limit == SIZE_MAX || budget->usage_fd < 0 ||
	    used_bytes(budget) + kept + bytes <= limit - limit / SPARE_PART)
		return true;
	memory_budget_unkeep(budget, bytes);
	atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
	return false;
}

void memory_budget_unkeep(struct memory_budget *budget, size_t bytes)
{
	atomic_fetch_sub_explicit(&budget->kept_bytes, bytes, memory_order_relaxed);
}

size_t memory_budget_left(const struct memory_budget *budget)
{
	size_t room = load(&budget->room_bytes), taken = load(&budget->taken_bytes);

	if (room == SIZE_MAX)
		return SIZE_MAX;
	return taken < room ? room - taken : 0;
}
