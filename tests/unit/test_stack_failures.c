#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "executors/coroutine/executor.h"
#include "tests/contract/over_executor.h"
#include "tests/with_cmocka.h"

/* What becomes of stacks when the system refuses: the k-th of its calls, or that and all after. */
enum { TASKS = 300, SLOT_BYTES = 64 * 1024 };

static struct {
	atomic_uint calls, refused;
	unsigned first_refused; /* counted from 1; 0: none */
	bool all_after;
	int error;
} refusals;

static bool refuses(void)
{
	unsigned call = atomic_fetch_add(&refusals.calls, 1) + 1;
	bool refuse =
		refusals.first_refused && (call == refusals.first_refused ||
	                                   (refusals.all_after && call > refusals.first_refused));

	if (refuse) {
		atomic_fetch_add(&refusals.refused, 1);
		errno = refusals.error;
	}
	return refuse;
}

static void *refusing_mmap(void *address, size_t bytes, int protection, int flags, int fd,
                           off_t offset)
{
	return refuses() ? MAP_FAILED : mmap(address, bytes, protection, flags, fd, offset);
}

static int refusing_madvise(void *address, size_t bytes, int advice)
{
	return refuses() ? -1 : madvise(address, bytes, advice);
}

static int refusing_mprotect(void *address, size_t bytes, int protection)
{
	return refuses() ? -1 : mprotect(address, bytes, protection);
}

static ssize_t refusing_process_madvise(int pidfd, const struct iovec *ranges, size_t count,
                                        int advice, unsigned flags)
{
	return refuses() ? -1 : process_madvise(pidfd, ranges, count, advice, flags);
}

static const struct stack_system refusing_system = {
	.mmap = refusing_mmap,
	.madvise = refusing_madvise,
	.mprotect = refusing_mprotect,
	.process_madvise = refusing_process_madvise,
};

static void refuse(unsigned first, bool all_after, int error)
{
	refusals.first_refused = first;
	refusals.all_after = all_after;
	refusals.error = error;
	atomic_store(&refusals.calls, 0);
	atomic_store(&refusals.refused, 0);
}

struct waiting_task {
	struct task task;
	struct countdown *over;
};

static int wait_a_moment(struct task *task)
{
	(void)task;
	return task_sleep_until(deadline_in_ms(5));
}

static void waiting_task_done(struct task *task)
{
	countdown_arrive(((struct waiting_task *)task)->over);
}

/* Run TASKS at once with what is refused now. How many were told -EAGAIN. */
static unsigned run_tasks(enum stack_guard guard)
{
	static struct waiting_task tasks[TASKS];
	struct executor_options options = options_for(TASKS);
	struct executor *executor;
	struct countdown over;
	unsigned rejected = 0;

	options.stack_guard = guard;
	executor = start_executor_with(&options);
	/* Its tasks come after this; their stacks with them. */
	((struct coroutine_executor *)executor)->stacks.guards.system = &refusing_system;
	countdown_init(&over, TASKS);
	for (size_t i = 0; i < TASKS; i++) {
		tasks[i] = (struct waiting_task){
			.task = {.run = wait_a_moment, .done = waiting_task_done},
			.over = &over,
		};
		assert_int_equal(executor_submit(executor, &tasks[i].task), 0);
	}
	countdown_wait(&over);
	countdown_finish(&over);
	executor_destroy(executor);
	for (size_t i = 0; i < TASKS; i++) {
		assert_true(tasks[i].task.result == 0 || tasks[i].task.result == -EAGAIN);
		rejected += tasks[i].task.result == -EAGAIN;
	}
	return rejected;
}

static void each_task_ends_whichever_call_fails(void **state)
{
	static const enum stack_guard guards[] = {STACK_GUARD_AUTO, STACK_GUARD_MPROTECT,
	                                          STACK_GUARD_CANARY};
	unsigned runs = 0, rejections = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
		for (unsigned k = 1; k == 1 || atomic_load(&refusals.refused); k += 1 + k / 8) {
			refuse(k, false, ENOMEM);
			rejections += run_tasks(guards[i]);
			runs++;
		}
	assert_true(runs > 10);
	assert_true(rejections > 0); /* where it was mmap() */
}

static void tasks_are_rejected_when_there_is_no_memory_at_all(void **state)
{
	(void)state;
	refuse(1, true, ENOMEM);
	assert_int_equal(run_tasks(STACK_GUARD_AUTO), TASKS);
}

static void without_guards_there_are_canaries(void **state)
{
	struct stack_pool_options options = {.slot_bytes = SLOT_BYTES, .system = &refusing_system};
	struct stack_pool pool;
	struct stack *batch;

	(void)state;
	refuse(0, false, 0);
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	refuse(2, true, ENOMEM); /* mmap() comes first */
	batch = stack_pool_get_batch(&pool);
	assert_non_null(batch);
	for (struct stack *stack = batch; stack; stack = stack->next)
		assert_int_equal(stack->guard, STACK_GUARD_CANARY);
	stack_pool_finish(&pool);
}

static void a_kernel_without_guards_by_madvise_is_known_at_the_start(void **state)
{
	struct stack_pool_options options = {.slot_bytes = SLOT_BYTES, .system = &refusing_system};
	struct stack_pool pool;

	(void)state;
	refuse(2, false, EINVAL); /* the page to try it on comes first */
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	assert_int_equal(pool.guards.kind, STACK_GUARD_MPROTECT);
	stack_pool_finish(&pool);
	refuse(2, false, EINVAL);
	options.guard = STACK_GUARD_MADVISE;
	assert_int_equal(stack_pool_init(&pool, &options), -EOPNOTSUPP);
}

static void a_filter_of_batches_is_asked_once(void **state)
{
	struct stack_pool_options options = {.slot_bytes = SLOT_BYTES, .system = &refusing_system};
	struct stack_pool pool;
	struct stack *batch;

	(void)state;
	refuse(0, false, 0);
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	if (pool.guards.kind == STACK_GUARD_MADVISE) {
		refuse(3, false, EPERM); /* after mmap() and the advice against huge pages */
		batch = stack_pool_get_batch(&pool);
		assert_non_null(batch);
		assert_int_equal(batch->guard, STACK_GUARD_MADVISE);
		assert_false(pool.guards.batches);
		assert_int_equal(refusals.refused, 1);
	}
	stack_pool_finish(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_ends_whichever_call_fails),
		cmocka_unit_test(tasks_are_rejected_when_there_is_no_memory_at_all),
		cmocka_unit_test(without_guards_there_are_canaries),
		cmocka_unit_test(a_kernel_without_guards_by_madvise_is_known_at_the_start),
		cmocka_unit_test(a_filter_of_batches_is_asked_once),
	};

	executor_under_test = "coroutine";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
