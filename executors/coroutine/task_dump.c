#include "executors/coroutine/task_dump.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/stack_walk.h"

/*
 * carrier->dump says who may touch a carrier's part of a request:
 *
 *	from     to       who                                  when
 *	NULL     request  the requester                        it asks
 *	request  NULL     the carrier, exchange, acquire       it begins a slice
 *	NULL     request  the carrier, release, under          a slice has ended, and there is
 *	                  request->lock                        more, and request->is_over is not set
 *	request  NULL     the requester, compare-and-swap,     the carrier has not been heard of
 *	                  acquire, under request->lock         for long, or the request is over
 *
 * A carrier that has no more to list counts itself out of request->pending, and so does
 * the requester for one that it withdraws from. One that is in a slice is on its driver's
 * own stack, which takes no long and waits for nothing; so the requester waits for it, and
 * once nothing is pending the request is nobody else's.
 */

/* A carrier's turn is to stay short: this is about half of one. */
#define SLICE_COROUTINES 256

#define SILENT_NS INT64_C(50000000)
#define LONGEST_NS INT64_C(100000000)

struct part {
	bool is_asked;    /* and not counted out; request->lock */
	bool has_begun;   /* who holds the part */
	unsigned left;    /* coroutines to list at most; who holds the part */
	int64_t heard_ns; /* when its last slice ended; request->lock */
};

struct dump_request {
	struct task_dump *dump;
	atomic_uint taken; /* relaxed: entries given to slices; may go over the capacity */

	pthread_mutex_t lock;
	pthread_cond_t none_pending;
	unsigned pending; /* lock; parts that are asked */
	bool is_over;     /* lock; no slice is to follow */
	struct part parts[CARRIERS_MAX];
};

/* ------ on the carrier */

static enum task_state state_of(struct coroutine *coroutine)
{
	if (atomic_load_explicit(&coroutine->is_away, memory_order_acquire))
		return TASK_BESIDE;
	if (coroutine->parked &&
	    atomic_load_explicit(&coroutine->task->permit, memory_order_relaxed) == PERMIT_PARKED)
		return TASK_PARKED;
	return TASK_READY;
}

static void list_coroutine(struct task_dump_entry *entry, struct coroutine *coroutine)
{
	const struct task *task = coroutine->task;
	const struct timer *timeout = &coroutine->timeout;

	task_dump_describe(entry, task);
	entry->carrier = coroutine->carrier->id;
	entry->started_ns = coroutine->started_ns;
	entry->state = state_of(coroutine);
	if (entry->state == TASK_BESIDE)
		return;
	task_dump_add_scopes(entry, task);
	entry->frames = stack_walk(&coroutine->fiber, entry->pcs, TASK_DUMP_FRAMES);
	if (entry->state != TASK_PARKED)
		return;
	task_dump_add_wait(entry, task);
	entry->parked_ns = coroutine->parked_ns;
	entry->until =
		timer_is_queued(timeout) ? (struct deadline){timeout->when_ns} : DEADLINE_NEVER;
}

/* Room for up to @count entries; *@out is how many. */
static struct task_dump_entry *take_entries(struct dump_request *request, unsigned count,
                                            unsigned *out)
{
	struct task_dump *dump = request->dump;
	unsigned first = atomic_fetch_add_explicit(&request->taken, count, memory_order_relaxed);

	*out = 0;
	if (first >= dump->capacity)
		return NULL;
	*out = dump->capacity - first < count ? dump->capacity - first : count;
	return &dump->entries[first];
}

/* Returns how many are left to list. */
static unsigned list_some(struct coroutine_carrier *carrier, struct dump_request *request,
                          unsigned left)
{
	struct live_list *list = &carrier->coroutines;
	unsigned wanted = left < SLICE_COROUTINES ? left : SLICE_COROUTINES, room;
	struct task_dump_entry *entries = take_entries(request, wanted, &room);

	for (unsigned i = 0; i < room && list->cursor; i++) {
		list_coroutine(&entries[i], list->cursor);
		list->cursor = list->cursor->live_next;
	}
	return list->cursor && room == wanted ? left - wanted : 0;
}

static void count_out_locked(struct dump_request *request, struct part *part)
{
	part->is_asked = false;
	if (--request->pending == 0)
		pthread_cond_signal(&request->none_pending);
}

void coroutine_dump_slice(struct coroutine_carrier *carrier)
{
	struct dump_request *request =
		atomic_exchange_explicit(&carrier->dump, NULL, memory_order_acquire);
	struct part *part;

	if (!request)
		return; /* withdrawn */
	part = &request->parts[carrier->id];
	if (!part->has_begun) {
		part->has_begun = true;
		/* Those that start meanwhile come to the end of the list. */
		part->left = atomic_load_explicit(&carrier->live, memory_order_relaxed);
		carrier->coroutines.cursor = carrier->coroutines.first;
	}
	part->left = list_some(carrier, request, part->left);
	pthread_mutex_lock(&request->lock);
	part->heard_ns = deadline_now_ns();
	if (part->left > 0 && !request->is_over)
		atomic_store_explicit(&carrier->dump, request, memory_order_release);
	else
		count_out_locked(request, part);
	pthread_mutex_unlock(&request->lock);
}

/* ------ on the requester's thread */

static void ask(struct coroutine_executor *executor, struct dump_request *request)
{
	unsigned count = request->dump->carrier_count;

	/* All are pending before the first can count itself out. */
	for (unsigned i = 0; i < count; i++) {
		bool is_asked = atomic_load(&executor->carriers[i]->state) != CARRIER_STOPPED;

		request->parts[i] = (struct part){
			.is_asked = is_asked,
			.heard_ns = request->dump->now_ns,
		};
		request->pending += is_asked;
	}
	for (unsigned i = 0; i < count; i++) {
		if (!request->parts[i].is_asked)
			continue;
		/* Sequentially consistent, as all that a carrier looks at before it sleeps. */
		atomic_store(&executor->carriers[i]->dump, request);
		(void)coroutine_carrier_wake(executor->carriers[i]);
	}
}

static void withdraw_locked(struct coroutine_executor *executor, struct dump_request *request,
                            unsigned number, int64_t now_ns)
{
	struct part *part = &request->parts[number];
	struct dump_request *expected = request;

	if (!atomic_compare_exchange_strong_explicit(&executor->carriers[number]->dump, &expected,
	                                             NULL, memory_order_acquire,
	                                             memory_order_relaxed)) {
		part->heard_ns = now_ns; /* it is in a slice */
		return;
	}
	request->dump->carriers[number].is_silent = now_ns - part->heard_ns >= SILENT_NS;
	request->dump->carriers[number].silent_since_ns = part->heard_ns;
	count_out_locked(request, part);
}

/* Returns when to look again. */
static int64_t withdraw_from_silent_locked(struct coroutine_executor *executor,
                                           struct dump_request *request, int64_t now_ns)
{
	int64_t next_ns = INT64_MAX;

	for (unsigned i = 0; i < request->dump->carrier_count; i++) {
		struct part *part = &request->parts[i];

		if (part->is_asked && (request->is_over || now_ns - part->heard_ns >= SILENT_NS))
			withdraw_locked(executor, request, i, now_ns);
		if (part->is_asked && part->heard_ns + SILENT_NS < next_ns)
			next_ns = part->heard_ns + SILENT_NS;
	}
	return next_ns;
}

static void await_all(struct coroutine_executor *executor, struct dump_request *request)
{
	int64_t end_ns = request->dump->now_ns + LONGEST_NS;

	pthread_mutex_lock(&request->lock);
	for (;;) {
		int64_t now_ns = deadline_now_ns(), next_ns;
		struct timespec moment;

		request->is_over = now_ns >= end_ns;
		next_ns = withdraw_from_silent_locked(executor, request, now_ns);
		if (request->pending == 0)
			break;
		if (!request->is_over && end_ns < next_ns)
			next_ns = end_ns;
		moment = (struct timespec){next_ns / 1000000000, next_ns % 1000000000};
		(void)pthread_cond_clockwait(&request->none_pending, &request->lock,
		                             CLOCK_MONOTONIC, &moment);
	}
	pthread_mutex_unlock(&request->lock);
}

static void describe_carriers(struct coroutine_executor *executor, struct task_dump *dump)
{
	for (unsigned i = 0; i < dump->carrier_count; i++) {
		struct coroutine_carrier *carrier = executor->carriers[i];
		struct task_dump_carrier *out = &dump->carriers[i];

		out->number = i;
		out->is_accepting = atomic_load(&carrier->state) == CARRIER_ACCEPTING;
		out->live = atomic_load_explicit(&carrier->live, memory_order_relaxed);
		out->parked = atomic_load_explicit(&carrier->parked, memory_order_relaxed);
		if (out->is_silent)
			monitor_view(&executor->monitor, carrier, out);
	}
}

/* A slice may have found fewer coroutines than it had taken entries for. */
static void close_gaps(struct task_dump *dump, unsigned taken)
{
	for (unsigned i = 0; i < taken && i < dump->capacity; i++) {
		if (!dump->entries[i].id)
			continue;
		if (i != dump->count)
			dump->entries[dump->count] = dump->entries[i];
		dump->count++;
	}
}

int coroutine_dump_tasks(struct executor *base, struct task_dump *dump)
{
	struct coroutine_executor *executor = (struct coroutine_executor *)base;
	struct dump_request *request = calloc(1, sizeof(*request));

	dump->carrier_count = atomic_load_explicit(&executor->created, memory_order_acquire);
	dump->carriers = calloc(dump->carrier_count, sizeof(*dump->carriers));
	if (!request || !dump->carriers) {
		free(request);
		return -ENOMEM;
	}
	request->dump = dump;
	request->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	request->none_pending = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_lock(&executor->dump_lock);
	dump->now_ns = deadline_now_ns(); /* others may have had their turn */
	ask(executor, request);
	await_all(executor, request);
	pthread_mutex_unlock(&executor->dump_lock);
	describe_carriers(executor, dump);
	close_gaps(dump, atomic_load_explicit(&request->taken, memory_order_relaxed));
	pthread_cond_destroy(&request->none_pending);
	pthread_mutex_destroy(&request->lock);
	free(request);
	return 0;
}
