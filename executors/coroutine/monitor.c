#include "executors/coroutine/monitor.h"

#include <time.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/stack_signal.h"
#include "executors/coroutine/thread_place.h"
#include "executors/thread_start.h"

/*
 * The hand-over, with the words of the table in carrier.h:
 *
 *	1. A word TASK(s) that has not changed for the threshold.
 *	2. A spare driver is taken first: a carrier that was won is never without one.
 *	3. TASK(s) → SCHED(s+1) by compare-and-swap, acquire. Lost: the task has called
 *	   into the runtime meanwhile, and the spare goes back.
 *	4. The monitor owns the carrier now, as a driver would; it gives it to the spare.
 *
 * The old driver goes on with its task. At the task's next claiming call its
 * compare-and-swap fails: s never comes back. So the task cannot end before it
 * has rejoined, and a coroutine that was found in carrier->current stays there.
 *
 * Events are written under their lock from before step 3 on, and the rejoin takes
 * that lock: it finds the event, and the driver it leaves, and the stack, stay while they
 * are looked at. The spare has the carrier by then: it does not wait for that.
 */

/* Of the threshold: CPU time that a task has used at the least when it has computed for as long. */
#define USED_SHARE 4

static bool all_asleep(struct coroutine_executor *executor)
{
	unsigned count = atomic_load(&executor->created);

	for (unsigned i = 0; i < count; i++) {
		struct coroutine_carrier *carrier = executor->carriers[i];

		if (!atomic_load(&carrier->sleeping) &&
		    atomic_load(&carrier->state) != CARRIER_STOPPED)
			return false;
	}
	return true;
}

static struct coroutine *current(struct coroutine_carrier *carrier)
{
	return atomic_load_explicit(&carrier->current, memory_order_relaxed);
}

/* What keeps a carrier: read once, while its word says so. */
struct keeper {
	struct coroutine *coroutine;
	struct driver *driver;
	uint64_t word; /* the carrier's, since the task was switched to */
};

static void mark_class(struct monitor *monitor, const struct task *task, enum pinned_kind kind)
{
	struct task_class *task_class = task_class_add(&monitor->executor->classes, task);

	if (!task_class)
		return;
	atomic_store_explicit(&task_class->computes, kind == PINNED_CPU, memory_order_relaxed);
	task_class_note(task_class, true);
}

/* The stack of a thread that sleeps can be read; but it may wake at any moment. */
static bool copy_stack(struct stack_snapshot *snapshot, const struct keeper *keeper,
                       const struct thread_place *place)
{
	struct stack_registers at = {.pc = place->pc, .sp = place->sp};
	struct thread_place now;

	if (!coroutine_has_on_stack(keeper->coroutine, at.sp))
		return false;
	stack_snapshot_take(snapshot, &at, (uintptr_t)keeper->coroutine);
	thread_place_read(keeper->driver->tid, &now);
	return thread_place_is_same(place, &now);
}

/* Under the lock of the events, which keeps a task that has lost its carrier on its thread. */
static void take_stack_locked(struct monitor *monitor, uint64_t number, const struct keeper *keeper,
                              const struct thread_place *place)
{
	struct pinned_stack *stack;

	if (!pinned_events_want_stack_locked(&monitor->events, number, keeper->coroutine,
	                                     keeper->word))
		return;
	if (place->is_running && stack_signal_send(keeper->driver->tid, number))
		return;
	stack = pinned_events_begin_stack(&monitor->events, number);
	if (stack)
		pinned_events_end_stack(stack, copy_stack(&stack->snapshot, keeper, place));
}

void monitor_notice_rejoin(struct monitor *monitor, const struct coroutine *coroutine)
{
	pinned_events_end(&monitor->events, coroutine);
}

static bool win(struct coroutine_carrier *carrier, uint64_t word)
{
	return atomic_compare_exchange_strong_explicit(&carrier->word, &word,
	                                               (word & ~WORD_TASK) + WORD_SEQUENCE,
	                                               memory_order_acquire, memory_order_relaxed);
}

/* Step 4, and what is to be known of it. @spare is NULL if there is none: then the carrier stays
 * where it is. @word is what it was kept with. */
static void report_locked(struct monitor *monitor, struct coroutine_carrier *carrier, uint64_t word,
                          int64_t since_ns, struct driver *spare)
{
	struct keeper keeper = {
		.coroutine = current(carrier),
		.driver = atomic_load_explicit(&carrier->driver, memory_order_relaxed),
		.word = word,
	};
	struct thread_place place;
	struct pinned_event event = {
		.since = {since_ns},
		.carrier = carrier->id,
		.is_handed_over = spare,
	};
	uint64_t number;

	thread_place_read(keeper.driver->tid, &place);
	event.kind = place.kind;
	if (spare) {
		event.task_name = keeper.coroutine->task->name;
		mark_class(monitor, keeper.coroutine->task, place.kind);
		atomic_store_explicit(&keeper.coroutine->is_away, true, memory_order_relaxed);
	}
	number =
		pinned_events_add_locked(&monitor->events, &event, spare ? keeper.coroutine : NULL);
	if (spare)
		driver_give(spare, carrier);
	take_stack_locked(monitor, number, &keeper, &place);
}

/* Step 2 to 4. @word has not changed since @since_ns. */
static void hand_over(struct monitor *monitor, struct coroutine_carrier *carrier, uint64_t word,
                      int64_t since_ns)
{
	struct driver_pool *drivers = &monitor->executor->drivers;
	struct driver *spare = driver_pool_take(drivers);
	bool *is_counted = &monitor->seen[carrier->id].is_counted;
	bool won;

	if (!spare && *is_counted)
		return;
	pthread_mutex_lock(&monitor->events.lock);
	won = spare && win(carrier, word);
	if (won || (!spare && atomic_load_explicit(&carrier->word, memory_order_acquire) == word))
		report_locked(monitor, carrier, word, since_ns, spare);
	pthread_mutex_unlock(&monitor->events.lock);
	*is_counted = !spare;
	if (spare && !won)
		driver_pool_put_back(drivers, spare);
}

/* CPU time that the carrier's driver has used. 0: it is gone. */
static int64_t used_ns(struct coroutine_carrier *carrier)
{
	clockid_t clock = atomic_load_explicit(&carrier->driver_clock, memory_order_relaxed);
	struct timespec used;

	return clock_gettime(clock, &used) == 0 ? used.tv_sec * INT64_C(1000000000) + used.tv_nsec
	                                        : 0;
}

/* Whether the driver has waited for a CPU rather than had one, since it used @before_ns: then the
 * task is not to blame, and another thread would wait likewise. */
static bool is_starved(struct monitor *monitor, struct coroutine_carrier *carrier,
                       int64_t before_ns)
{
	struct thread_place place;

	if (used_ns(carrier) - before_ns >= monitor->threshold_ns / USED_SHARE)
		return false;
	thread_place_read(atomic_load_explicit(&carrier->driver_tid, memory_order_relaxed), &place);
	return place.is_running;
}

static void look_at(struct monitor *monitor, struct coroutine_carrier *carrier, int64_t now_ns)
{
	uint64_t word = atomic_load_explicit(&carrier->word, memory_order_relaxed);
	__typeof__(&monitor->seen[0]) seen = &monitor->seen[carrier->id];
	int64_t since_ns = atomic_load_explicit(&seen->since_ns, memory_order_relaxed);

	if (!(word & WORD_TASK) ||
	    word != atomic_load_explicit(&seen->word, memory_order_relaxed)) {
		atomic_store_explicit(&seen->word, word, memory_order_relaxed);
		atomic_store_explicit(&seen->since_ns, now_ns, memory_order_relaxed);
		seen->used_ns = word & WORD_TASK ? used_ns(carrier) : 0;
		seen->is_counted = false;
	} else if (now_ns - since_ns >= monitor->threshold_ns &&
	           !is_starved(monitor, carrier, seen->used_ns)) {
		hand_over(monitor, carrier, word, since_ns);
	}
}

/* What it says of the task was written before the word that is found the same at both ends. */
void monitor_view(struct monitor *monitor, struct coroutine_carrier *carrier,
                  struct task_dump_carrier *out)
{
	uint64_t word = atomic_load_explicit(&carrier->word, memory_order_acquire);
	__typeof__(&monitor->seen[0]) seen = &monitor->seen[carrier->id];
	struct coroutine *coroutine = current(carrier);
	int64_t since_ns;
	const char *name;
	const void *id;

	if (!(word & WORD_TASK))
		return;
	name = atomic_load_explicit(&coroutine->name, memory_order_relaxed);
	id = atomic_load_explicit(&coroutine->id, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&carrier->word, memory_order_relaxed) != word)
		return;
	out->task_name = name;
	out->task = id;
	since_ns = atomic_load_explicit(&seen->since_ns, memory_order_relaxed);
	if (atomic_load_explicit(&seen->word, memory_order_relaxed) == word &&
	    since_ns < out->silent_since_ns)
		out->silent_since_ns = since_ns;
}

/* A look every half threshold: what is seen unchanged at three has been kept for a whole one. */
static void wait_locked(struct monitor *monitor)
{
	struct deadline next = deadline_in_ns(monitor->threshold_ns / 2);
	struct timespec moment = {next.ns / 1000000000, next.ns % 1000000000};

	atomic_store(&monitor->asleep, true);
	if (all_asleep(monitor->executor)) {
		while (atomic_load(&monitor->asleep) && !monitor->closing)
			(void)pthread_cond_wait(&monitor->changed, &monitor->lock);
	} else {
		atomic_store(&monitor->asleep, false);
		(void)pthread_cond_clockwait(&monitor->changed, &monitor->lock, CLOCK_MONOTONIC,
		                             &moment);
	}
	atomic_store(&monitor->asleep, false);
}

static void *monitor_main(void *arg)
{
	struct monitor *monitor = arg;
	struct coroutine_executor *executor = monitor->executor;

	(void)pthread_setname_np(pthread_self(), "fanoutd-monitor");
	pthread_mutex_lock(&monitor->lock);
	while (!monitor->closing) {
		unsigned count = atomic_load(&executor->created);
		int64_t now_ns = deadline_now_ns();

		pthread_mutex_unlock(&monitor->lock);
		for (unsigned i = 0; i < count; i++)
			look_at(monitor, executor->carriers[i], now_ns);
		pthread_mutex_lock(&monitor->lock);
		if (!monitor->closing)
			wait_locked(monitor);
	}
	pthread_mutex_unlock(&monitor->lock);
	return NULL;
}

void monitor_notice_work(struct monitor *monitor)
{
	if (!atomic_load(&monitor->asleep))
		return;
	pthread_mutex_lock(&monitor->lock);
	atomic_store(&monitor->asleep, false);
	pthread_cond_signal(&monitor->changed);
	pthread_mutex_unlock(&monitor->lock);
}

int monitor_start(struct monitor *monitor, struct coroutine_executor *executor,
                  int64_t threshold_ns)
{
	int error;

	monitor->executor = executor;
	monitor->threshold_ns = threshold_ns;
	error = thread_start(&monitor->thread, 0, monitor_main, monitor);
	monitor->is_running = error == 0;
	return error;
}

void monitor_stop(struct monitor *monitor)
{
	if (!monitor->is_running)
		return;
	pthread_mutex_lock(&monitor->lock);
	monitor->closing = true;
	pthread_cond_signal(&monitor->changed);
	pthread_mutex_unlock(&monitor->lock);
	(void)pthread_join(monitor->thread, NULL);
	monitor->is_running = false;
}
