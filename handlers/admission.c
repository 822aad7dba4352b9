#include "handlers/admission.h"

#include "executors/task.h"

/* One request has at most one part in so many of the room for what it keeps. */
enum { SHARES = 8 };

static size_t bytes_of(const struct admission_need *need)
{
	/* Numbers of calls and their bytes are far from what 64 bits hold. */
	uint64_t bytes = need->in_flight * (task_memory_bytes() + need->call_bytes);

	bytes += need->other_bytes;
	return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static void refuse(struct memory_budget *budget, size_t bytes, size_t left,
                   struct response *response)
{
	response_problem(response, 503, NULL,
	                 "the request needs about %zu bytes, and of the memory limit of %zu bytes "
	                 "%zu are free for requests",
	                 bytes, atomic_load_explicit(&budget->limit_bytes, memory_order_relaxed),
	                 left);
	response_add_header(response, "Retry-After", "1");
}

bool admission_enter(struct memory_budget *budget, const struct admission_need *need,
                     struct response *response, size_t *taken)
{
	size_t bytes = bytes_of(need);

	*taken = 0;
	if (!budget || memory_budget_take(budget, bytes, taken))
		return true;
	refuse(budget, bytes, memory_budget_left(budget), response);
	return false;
}

bool admission_keep(struct memory_budget *budget, size_t bytes, struct response *response)
{
	if (memory_budget_keep(budget, bytes))
		return true;
	refuse(budget, bytes, 0, response);
	return false;
}

void admission_leave(struct memory_budget *budget, size_t taken, struct response *response)
{
	size_t kept = response->body_len < taken ? response->body_len : taken;

	if (taken == 0)
		return;
	memory_budget_give(budget, taken - kept);
	response->memory = budget;
	response->memory_taken = kept;
}

size_t admission_share(const struct memory_budget *budget, size_t bytes)
{
	size_t room;

	if (!budget)
		return bytes;
	room = atomic_load_explicit(&budget->room_bytes, memory_order_relaxed);
	return room / SHARES < bytes ? room / SHARES : bytes;
}
