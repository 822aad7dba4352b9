#include "server/memory_watch.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "server/log.h"
#include "server/metrics_text.h"

/* One part in so many is for what no request is charged with: connections of clients, answers on
 * their way, what the allocator keeps. */
enum { SPARE_PART = 10 };

/* Where memory is short, long texts have mappings of their own, which grow without a copy and go
 * back to the kernel when they are freed. By itself the allocator stops that after the first. */
enum { MAPPED_BYTES = 1024 * 1024 };

/* What the allocator keeps is given back when it may be one part in so many of the room, and has
 * grown by one in so many since that was done. */
enum { HOARD_PART = 4, GROWTH_PART = 16 };

int memory_watch_init(struct memory_watch *watch)
{
	int error = memory_limit_reader_create("", &watch->reader);

	if (error != 0)
		return error;
	memory_budget_init(&watch->budget);
	watch->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	watch->limit.limit_bytes = UINT64_MAX;
	return 0;
}

void memory_watch_finish(struct memory_watch *watch)
{
	memory_budget_finish(&watch->budget);
	memory_limit_reader_destroy(watch->reader);
	pthread_mutex_destroy(&watch->lock);
}

static size_t room(uint64_t limit_bytes, uint64_t base_bytes)
{
	uint64_t kept_bytes = limit_bytes / SPARE_PART + base_bytes;

	return limit_bytes > kept_bytes ? (size_t)(limit_bytes - kept_bytes) : 0;
}

static void limit_requests(struct memory_watch *watch, uint64_t limit_bytes)
{
	/* It cannot fail: the value is within what mallopt(3) allows. Others may allocate
	 * meanwhile: glibc takes its lock for this. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	memory_budget_set(&watch->budget, (size_t)limit_bytes,
	                  room(limit_bytes, watch->base_bytes));
}

static void take(struct memory_watch *watch, const struct memory_limit *limit)
{
	/* The base is that of a group: in another one, or with the first limit, it is what is in
	 * use there now. */
	if (strcmp(limit->limited_by, watch->limit.limited_by) != 0)
		watch->base_bytes = limit->used_bytes;
	int usage_fd = memory_limit_open_usage(watch->reader);

	if (usage_fd >= 0)
		memory_budget_measure_by(&watch->budget, usage_fd);
	if (limit->limit_bytes == UINT64_MAX)
		memory_budget_set(&watch->budget, SIZE_MAX, SIZE_MAX);
	else
		limit_requests(watch, limit->limit_bytes);
}

static void trim(struct memory_watch *watch, const struct memory_limit *limit)
{
	uint64_t room_bytes = room(limit->limit_bytes, watch->base_bytes);
	uint64_t wanted_bytes = watch->base_bytes + atomic_load_explicit(&watch->budget.taken_bytes,
	                                                                 memory_order_relaxed);

	if (limit->used_bytes < watch->trimmed_bytes)
		watch->trimmed_bytes = limit->used_bytes;
	if (limit->limit_bytes == UINT64_MAX ||
	    limit->used_bytes < wanted_bytes + room_bytes / HOARD_PART ||
	    limit->used_bytes < watch->trimmed_bytes + room_bytes / GROWTH_PART)
		return;
	(void)malloc_trim(0);
	watch->trimmed_bytes = limit->used_bytes;
}

bool memory_watch_read(struct memory_watch *watch)
{
	struct memory_limit limit;
	int error = memory_limit_read(watch->reader, &limit);

	if (error != 0 && error != watch->warned_of) {
		log_event(LOG_SEVERITY_WARNING, "memory", "limit=unreadable error=%s",
		          strerrorname_np(-error));
		watch->warned_of = error;
	}
	/* Only this thread writes it. */
	bool is_new = limit.limit_bytes != watch->limit.limit_bytes ||
	              strcmp(limit.limited_by, watch->limit.limited_by) != 0;

	if (is_new)
		take(watch, &limit);
	atomic_store_explicit(&watch->budget.file_bytes, (size_t)limit.file_bytes,
	                      memory_order_relaxed);
	trim(watch, &limit);
	pthread_mutex_lock(&watch->lock);
	watch->limit = limit;
	pthread_mutex_unlock(&watch->lock);
	return is_new;
}

void memory_watch_log(const struct memory_watch *watch)
{
	const struct memory_limit *limit = &watch->limit;

	if (limit->limit_bytes == UINT64_MAX)
		log_event(LOG_SEVERITY_INFO, "memory", "limit=none");
	else
		log_event(LOG_SEVERITY_INFO, "memory",
		          "limit=%" PRIu64 " base=%" PRIu64 " for_requests=%zu limited_by=\"%s\"",
		          limit->limit_bytes, watch->base_bytes,
		          room(limit->limit_bytes, watch->base_bytes), limit->limited_by);
}

static double bytes_or_infinity(size_t bytes)
{
	return bytes == SIZE_MAX ? INFINITY : (double)bytes;
}

void memory_watch_print(struct memory_watch *watch, struct metrics_text *text)
{
	struct memory_budget *budget = &watch->budget;

	pthread_mutex_lock(&watch->lock);
	double used = (double)watch->limit.used_bytes;

	pthread_mutex_unlock(&watch->lock);
	metrics_family(text, "fanoutd_memory_limit_bytes", "gauge",
	               "Memory limit of the cgroup and those above it; +Inf without one.");
	metrics_sample(text, "fanoutd_memory_limit_bytes", NULL,
	               bytes_or_infinity(
			       atomic_load_explicit(&budget->limit_bytes, memory_order_relaxed)));
	metrics_family(text, "fanoutd_memory_used_bytes", "gauge",
	               "Memory of the limiting cgroup that cannot be got back from files; 0 "
	               "without a limit.");
	metrics_sample(text, "fanoutd_memory_used_bytes", NULL, used);
	metrics_family(text, "fanoutd_request_memory_bytes", "gauge",
	               "Memory that requests may take together, and what they have taken.");
	metrics_sample(
		text, "fanoutd_request_memory_bytes", (const char *[]){"of", "limit", NULL},
		bytes_or_infinity(atomic_load_explicit(&budget->room_bytes, memory_order_relaxed)));
	metrics_sample(text, "fanoutd_request_memory_bytes", (const char *[]){"of", "taken", NULL},
	               (double)atomic_load_explicit(&budget->taken_bytes, memory_order_relaxed));
	metrics_family(text, "fanoutd_request_memory_refused_total", "counter",
	               "Requests that had no room in the memory limit.");
	metrics_sample(text, "fanoutd_request_memory_refused_total", NULL,
	               (double)atomic_load_explicit(&budget->refused, memory_order_relaxed));
}
