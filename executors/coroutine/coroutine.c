#include "executors/coroutine/coroutine.h"

#include <assert.h>
#include <stdlib.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"
#include "executors/coroutine/task_class.h"

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

/* The one function that leaves a task's stack. errno is the task's: it is kept here, so that a
 * call that came back on another pthread finds it there. */
static __attribute__((noinline)) void
leave_stack_to(struct driver *driver, struct coroutine *coroutine, enum coroutine_after after)
{
	int saved_errno = errno;

	driver->after = after;
	if (after == AFTER_EXIT)
		fiber_leave(&coroutine->fiber, &driver->native);
	else
		fiber_switch(&coroutine->fiber, &driver->native);
	errno = saved_errno;
}

/* Owning the carrier, whose driver is then the one that we are on. */
static void leave_stack(struct coroutine *coroutine, enum coroutine_after after)
{
	struct driver *driver =
		atomic_load_explicit(&coroutine->carrier->driver, memory_order_relaxed);

	leave_stack_to(driver, coroutine, after);
}

static void coroutine_release(struct coroutine *coroutine)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	uint64_t word;

	if (task_class_is_heavy(coroutine->task_class))
		leave_stack(coroutine, AFTER_HEAVY);
	if (coroutine->is_beside) { /* the next claim is to fail */
		coroutine->expected = WORD_BESIDE;
		return;
	}
	word = atomic_load_explicit(&carrier->word, memory_order_relaxed) | WORD_TASK;
	coroutine->expected = word;
	atomic_store_explicit(&carrier->word, word, memory_order_release);
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
	coroutine_release(coroutine);
	result = coroutine->task->run(coroutine->task);
	coroutine_claim(coroutine);
	coroutine->result = result;
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
	int error = 0;

	coroutine_claim(coroutine);
	if (atomic_exchange_explicit(&task->permit, PERMIT_NONE, memory_order_acquire) !=
	    PERMIT_NOTED) {
		coroutine->timed_out = false;
		timeout_set(coroutine, deadline);
		leave_stack(coroutine, AFTER_PARK);
		timer_heap_remove(&coroutine->carrier->timeouts, &coroutine->timeout);
		/* Acquire: more than one may have woken us, and each had something to say. */
		(void)atomic_exchange_explicit(&task->permit, PERMIT_NONE, memory_order_acquire);
		error = coroutine->timed_out ? -ETIMEDOUT : 0;
	}
	coroutine_release(coroutine);
	return error;
}

void coroutine_yield(struct task *task)
{
	struct coroutine *coroutine = task->seat;

	coroutine_claim(coroutine);
	leave_stack(coroutine, AFTER_YIELD);
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

struct carrier *coroutine_current_carrier(struct task *task)
{
	return &((struct coroutine *)task->seat)->carrier->base;
}
