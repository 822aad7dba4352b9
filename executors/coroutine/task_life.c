#include "executors/coroutine/task_life.h"

#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/overflow.h"
#include "executors/coroutine/task_class.h"
#include "executors/coroutine/turn.h"

static struct coroutine *coroutine_get(struct coroutine_carrier *carrier)
{
	struct stack *stack = stack_cache_get(&carrier->stacks);
	struct coroutine *coroutine;

	if (!stack)
		return NULL;
	coroutine = (struct coroutine *)stack - 1;
	coroutine->stack = stack;
	return coroutine;
}

static void coroutine_put(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	struct stack *stack = coroutine->stack;

	live_list_remove(&carrier->coroutines, coroutine);
	fiber_finish(&coroutine->fiber);
	stack_cache_put(&carrier->stacks, stack);
}

static void coroutine_set_task(struct coroutine *coroutine, struct task *task)
{
	struct coroutine_executor *executor = coroutine->carrier->executor;

	atomic_store_explicit(&coroutine->name, task->name, memory_order_relaxed);
	atomic_store_explicit(&coroutine->id, task, memory_order_relaxed);
	coroutine->started_ns = coroutine->carrier->now_ns;
	coroutine->task = task;
	coroutine->task_class = task_class_find(&executor->classes, task);
	coroutine->was_pinned = false;
	if (task_class_is_heavy(coroutine->task_class))
		coroutine_executor_note_heavy_start(executor);
	task_begin(task, coroutine);
}

static void coroutine_prepare(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	struct stack *stack = coroutine->stack;
	uintptr_t top = (uintptr_t)coroutine & ~(uintptr_t)63;

	/* One by one: what others may read of the one that was here before is atomic. */
	atomic_store_explicit(&coroutine->is_away, false, memory_order_relaxed);
	coroutine->carrier = carrier;
	coroutine->timeout = (struct timer){0};
	coroutine->parked = false;
	coroutine->is_beside = false;
	live_list_add(&carrier->coroutines, coroutine);
	fiber_init(&coroutine->fiber, stack->low, top - (uintptr_t)stack->low, coroutine_main);
}

static void set_live(struct coroutine_carrier *carrier, int change)
{
	unsigned live = atomic_load_explicit(&carrier->live, memory_order_relaxed);

	atomic_store_explicit(&carrier->live, live + (unsigned)change, memory_order_relaxed);
}

static void end_task(struct coroutine_carrier *carrier, struct task *task, int result)
{
	set_live(carrier, -1);
	task_end(task, result);
	coroutine_executor_task_ended(carrier->executor);
}

struct coroutine *task_life_start(struct coroutine_carrier *carrier)
{
	unsigned live = atomic_load_explicit(&carrier->live, memory_order_relaxed);
	struct task *task = turn_next_new(carrier);
	struct coroutine *coroutine = NULL;

	if (!task)
		return NULL;
	if (timer_heap_reserve(&carrier->timeouts, live) == 0)
		coroutine = coroutine_get(carrier);
	if (!coroutine) {
		end_task(carrier, task, -EAGAIN);
		return NULL;
	}
	coroutine_prepare(carrier, coroutine);
	coroutine_set_task(coroutine, task);
	return coroutine;
}

static void coroutine_end_task(struct coroutine *coroutine, int result)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	struct task *task = coroutine->task;

	if (coroutine->task_class && !coroutine->was_pinned)
		task_class_note(coroutine->task_class, false);
	if (!stack_is_intact(carrier->stacks.pool, coroutine->stack))
		overflow_abort(task->name, carrier->stacks.pool->slot_bytes);
	coroutine->task = NULL;
	end_task(carrier, task, result);
}

bool task_life_take_new(struct coroutine_carrier *carrier, bool steal)
{
	struct coroutine_executor *executor = carrier->executor;
	const struct run_filter *filter = coroutine_executor_filter(executor);
	unsigned count = 0, queued;

	if (task_life_has_new(carrier))
		return true;
	if (atomic_load(&carrier->state) != CARRIER_ACCEPTING)
		return false;
	if (carrier->turn++ % 2)
		count = coroutine_executor_steal(executor, carrier, carrier->new_tasks, 1, true);
	queued = atomic_load_explicit(&carrier->queue.tickets, memory_order_relaxed);
	/* With others in the queue it is one at a time, for the sake of fairness. */
	if (count == 0 && queued)
		count = run_queue_take(&carrier->queue, carrier->new_tasks,
		                       queued == 1 ? carrier->batch : 1,
		                       atomic_load(&executor->accepting), filter);
	if (count == 0 && steal)
		count = coroutine_executor_steal(executor, carrier, carrier->new_tasks,
		                                 carrier->batch, false);
	carrier->new_next = 0;
	carrier->new_count = count;
	set_live(carrier, (int)count);
	return count > 0;
}

bool task_life_replace(struct coroutine *coroutine, int result)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	struct driver *driver = atomic_load_explicit(&carrier->driver, memory_order_relaxed);

	coroutine->result = result;
	if (!coroutine->task->scope)
		return false; /* its done() may need more of a stack than this */
	driver->on_task = false;
	*driver->task_of_thread = NULL; /* whose memory its owner has from the report on */
	coroutine_end_task(coroutine, result);
	driver->on_task = true;
	if (turn_is_over(carrier) || turn_has_next(carrier) || !task_life_take_new(carrier, false))
		return false;
	live_list_move_to_end(&carrier->coroutines, coroutine);
	coroutine_set_task(coroutine, turn_next_new(carrier));
	turn_switches_to(carrier, driver, coroutine);
	return true;
}

void task_life_finish(struct coroutine *coroutine)
{
	if (coroutine->task)
		coroutine_end_task(coroutine, coroutine->result);
	coroutine_put(coroutine->carrier, coroutine);
}
