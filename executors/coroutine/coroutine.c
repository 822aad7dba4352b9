#include "executors/coroutine/coroutine.h"

#include <assert.h>
#include <stdlib.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"
#include "executors/coroutine/task_class.h"
#include "executors/coroutine/task_life.h"
#include "executors/coroutine/turn.h"

/*
 * The half of the runtime that runs on tasks' stacks. A claiming call is
 *
 *	coroutine_claim()    own the carrier, or find it lost and get it back
 *	… leave_stack() …    if there is something to wait for
 *	coroutine_release()  last: nothing of the carrier is touched after it
 *
 * and may come back on another pthread, even if it did not wait. So a driver is
 * asked for anew after each of these, never kept.
 */

/* Owning the carrier, whose driver is then the one that we are on. */
static struct driver *driver_of(struct coroutine *coroutine)
{
	return atomic_load_explicit(&coroutine->carrier->driver, memory_order_relaxed);
}

/* On @driver, to its own stack. errno is the task's: it is kept here, and where another task is
 * switched to, so that a call that came back on another pthread finds it there. */
static __attribute__((noinline)) void
leave_stack_to(struct driver *driver, struct coroutine *coroutine, enum coroutine_after after)
{
	int saved_errno = *driver->errno_of_thread;

	driver->left = coroutine;
	driver->after = after;
	if (after == AFTER_EXIT)
		fiber_leave(&coroutine->fiber, &driver->native);
	else
		fiber_switch(&coroutine->fiber, &driver->native);
	/* Not that of the carrier if it goes on beside it. */
	*driver_self()->errno_of_thread = saved_errno;
}

static void leave_stack(struct coroutine *coroutine, enum coroutine_after after)
{
	leave_stack_to(driver_of(coroutine), coroutine, after);
}

/* Let the next one run: straight on its stack if it has one. @coroutine is ready, or says that it
 * is parked: nobody but the owner, which we are until the switch, has it go on. */
static inline __attribute__((always_inline)) void make_way(struct coroutine *coroutine)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	struct coroutine *next = turn_is_over(carrier) ? NULL : turn_next(carrier);
	struct driver *driver = driver_of(coroutine);
	int saved_errno;

	if (!next) {
		leave_stack_to(driver, coroutine, AFTER_WAIT);
		return;
	}
	turn_switches_to(carrier, driver, next);
	if (next == coroutine)
		return;
	saved_errno = *driver->errno_of_thread;
	fiber_switch(&coroutine->fiber, &next->fiber);
	*driver_of(coroutine)->errno_of_thread = saved_errno;
}

static inline void release_word(struct coroutine *coroutine)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	uint64_t word = atomic_load_explicit(&carrier->word, memory_order_relaxed) | WORD_TASK;

	coroutine->expected = word;
	atomic_store_explicit(&carrier->word, word, memory_order_release);
}

/* One of a kind that keeps carriers, or that runs beside its own. */
static __attribute__((noinline)) void release_unlike_most(struct coroutine *coroutine)
{
	if (task_class_is_heavy(coroutine->task_class))
		leave_stack(coroutine, AFTER_HEAVY);
	if (coroutine->is_beside)
		coroutine->expected = WORD_BESIDE; /* the next claim is to fail */
	else
		release_word(coroutine);
}

static inline void coroutine_release(struct coroutine *coroutine)
{
	if (__builtin_expect(coroutine->task_class || coroutine->is_beside, false))
		release_unlike_most(coroutine);
	else
		release_word(coroutine);
}

static void coroutine_claim(struct coroutine *coroutine)
{
	uint64_t word = coroutine->expected;

	if (__builtin_expect(!atomic_compare_exchange_strong_explicit(
				     &coroutine->carrier->word, &word, word & ~WORD_TASK,
				     memory_order_acquire, memory_order_relaxed),
	                     false))
		/* Resumed by the carrier's driver: it is ours. */
		leave_stack_to(driver_self(), coroutine, AFTER_LOST);
}

void coroutine_main(void *fiber)
{
	struct coroutine *coroutine = fiber;
	int result;

	fiber_enter(&coroutine->fiber);
	do {
		coroutine_release(coroutine);
		result = coroutine->task->run(coroutine->task);
		coroutine_claim(coroutine);
	} while (task_life_replace(coroutine, result));
	leave_stack(coroutine, AFTER_EXIT);
	abort(); /* resumed after its end */
}

static void timeout_set(struct coroutine *coroutine, struct deadline deadline)
{
	int error;

	if (deadline.ns == DEADLINE_NEVER.ns)
		return;
	coroutine->timeout.when_ns = deadline.ns;
	error = timer_heap_add(&coroutine->carrier->timeouts, &coroutine->timeout);
	assert(error == 0); /* the carrier reserved the room when it started the task */
}

int coroutine_park(struct task *task, struct deadline deadline)
{
	struct coroutine *coroutine = task->seat;
	unsigned state = PERMIT_NONE;
	int error = 0;

	coroutine_claim(coroutine);
	/* From here on a waker may put us into the inbox: that is ours, too, until we have left. */
	if (atomic_compare_exchange_strong_explicit(&task->permit, &state, PERMIT_PARKED,
	                                            memory_order_acq_rel, memory_order_acquire)) {
		coroutine->timed_out = false;
		timeout_set(coroutine, deadline);
		coroutine->parked_ns = coroutine->carrier->now_ns;
		turn_set_parked(coroutine, true);
		make_way(coroutine);
		timer_heap_remove(&coroutine->carrier->timeouts, &coroutine->timeout);
		error = coroutine->timed_out ? -ETIMEDOUT : 0;
	}
	/* Acquire: more than one may have woken us, and each had something to say. */
	(void)atomic_exchange_explicit(&task->permit, PERMIT_NONE, memory_order_acquire);
	coroutine_release(coroutine);
	return error;
}

void coroutine_yield(struct task *task)
{
	struct coroutine *coroutine = task->seat;

	coroutine_claim(coroutine);
	turn_push(coroutine->carrier, coroutine);
	make_way(coroutine);
	coroutine_release(coroutine);
}

void coroutine_call(struct carrier *carrier, struct task *task,
                    void (*fn)(struct carrier *carrier, void *arg), void *arg)
{
	struct coroutine *coroutine = task->seat;

	(void)carrier;
	coroutine_claim(coroutine);
	coroutine->call = fn;
	coroutine->call_arg = arg;
	leave_stack(coroutine, AFTER_CALL);
	coroutine_release(coroutine);
}

void coroutine_call_small(struct carrier *carrier, struct task *task,
                          void (*fn)(struct carrier *carrier, void *arg), void *arg)
{
	struct coroutine *coroutine = task->seat;
	struct driver *driver;

	coroutine_claim(coroutine);
	driver = driver_of(coroutine);
	driver->on_task = false; /* @fn may do what a driver may, on another stack */
	fn(carrier, arg);
	driver->on_task = true;
	coroutine_release(coroutine);
}

struct carrier *coroutine_current_carrier(struct task *task)
{
	return &((struct coroutine *)task->seat)->carrier->base;
}
