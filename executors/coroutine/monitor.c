#include "executors/coroutine/monitor.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
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
 * Events are written under events_lock from before step 3 on, and the rejoin takes
 * that lock: it finds the event, and the driver it leaves stays while it is looked at.
 */

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

/* What the kernel says the thread is at: computing, waiting for a lock, or in another system call.
 * Reading it has no effect on the thread. */
static enum pinned_kind thread_kind(int tid)
{
	char path[64], text[64];
	ssize_t length = -1;
	int fd, written = snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);

	if (written < 0 || (size_t)written >= sizeof(path))
		return PINNED_CPU;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
	}
	if (length <= 0 || text[0] < '0' || text[0] > '9')
		return PINNED_CPU; /* "running", or there is no such file */
	text[length] = '\0';
	return strtol(text, NULL, 10) == SYS_futex ? PINNED_LOCK : PINNED_SYSCALL;
}

static struct coroutine *current(struct coroutine_carrier *carrier)
{
	return atomic_load_explicit(&carrier->current, memory_order_relaxed);
}

static void add_event_locked(struct monitor *monitor, struct coroutine_carrier *carrier,
                             int64_t since_ns, bool is_handed_over)
{
	struct driver *driver = atomic_load_explicit(&carrier->driver, memory_order_relaxed);
	struct pinned_event *event = &monitor->events[monitor->event_count % PINNED_EVENTS_KEPT];
	const char *name = NULL;

	if (is_handed_over)
		name = current(carrier)->task->name;
	*event = (struct pinned_event){
		.number = monitor->event_count++,
		.since = {since_ns},
		.kind = thread_kind(driver->tid),
		.task_name = name,
		.carrier = carrier->id,
		.is_handed_over = is_handed_over,
		.coroutine = is_handed_over ? current(carrier) : NULL,
	};
	monitor->pinned[event->kind]++;
}

static void mark_class(struct monitor *monitor, struct coroutine_carrier *carrier)
{
	struct task_class *task_class =
		task_class_add(&monitor->executor->classes, current(carrier)->task);
	struct driver *driver = atomic_load_explicit(&carrier->driver, memory_order_relaxed);

	if (!task_class)
		return;
	atomic_store_explicit(&task_class->computes, thread_kind(driver->tid) == PINNED_CPU,
	                      memory_order_relaxed);
	task_class_note(task_class, true);
}

void monitor_notice_rejoin(struct monitor *monitor, const struct coroutine *coroutine)
{
	pthread_mutex_lock(&monitor->events_lock);
	/* The newest of this coroutine; long gone if many have come since. */
	for (uint64_t i = 1; i <= PINNED_EVENTS_KEPT && i <= monitor->event_count; i++) {
		struct pinned_event *event =
			&monitor->events[(monitor->event_count - i) % PINNED_EVENTS_KEPT];

		if (event->coroutine != coroutine)
			continue;
		event->duration_ns = deadline_now_ns() - event->since.ns;
		event->coroutine = NULL;
		break;
	}
	pthread_mutex_unlock(&monitor->events_lock);
}

static bool win(struct coroutine_carrier *carrier, uint64_t word)
{
	return atomic_compare_exchange_strong_explicit(&carrier->word, &word,
	                                               (word & ~WORD_TASK) + WORD_SEQUENCE,
	                                               memory_order_acquire, memory_order_relaxed);
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
	pthread_mutex_lock(&monitor->events_lock);
	won = spare && win(carrier, word);
	if (won) {
		mark_class(monitor, carrier);
		atomic_store_explicit(&current(carrier)->is_away, true, memory_order_relaxed);
	}
	if (won || (!spare && atomic_load_explicit(&carrier->word, memory_order_relaxed) == word))
		add_event_locked(monitor, carrier, since_ns, won);
	pthread_mutex_unlock(&monitor->events_lock);
	*is_counted = !spare;
	if (won)
		driver_give(spare, carrier);
	else if (spare)
		driver_pool_put_back(drivers, spare);
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
		seen->is_counted = false;
	} else if (now_ns - since_ns >= monitor->threshold_ns) {
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

void monitor_counts(struct monitor *monitor, uint64_t pinned[PINNED_KINDS])
{
	pthread_mutex_lock(&monitor->events_lock);
	memcpy(pinned, monitor->pinned, sizeof(monitor->pinned));
	pthread_mutex_unlock(&monitor->events_lock);
}

unsigned monitor_events(struct monitor *monitor, uint64_t *next, struct pinned_event *out,
                        unsigned max)
{
	unsigned count = 0;

	pthread_mutex_lock(&monitor->events_lock);
	if (*next + PINNED_EVENTS_KEPT < monitor->event_count)
		*next = monitor->event_count - PINNED_EVENTS_KEPT;
	while (count < max && *next < monitor->event_count)
		out[count++] = monitor->events[(*next)++ % PINNED_EVENTS_KEPT];
	pthread_mutex_unlock(&monitor->events_lock);
	return count;
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
