/*
 * The stacks of tasks that keep their carrier, from the look of the monitor to the
 * names of the functions: with real tasks, each stuck in a way of its own.
 */
#include "server/stack_trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executors/deadline.h"
#include "executors/executor.h"
#include "tests/contract/over_executor.h"
#include "tests/with_cmocka.h"

enum { STUCK_MS = 300, PATIENCE_MS = 20000 };

/* What a task was doing, and how it went on. */
struct stuck {
	struct task task;
	void (*how)(void);
	int64_t took_ns;
	int errno_after;
	int parks;
	struct countdown over;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool go;

/* So that the calls below stay calls, with a frame each. */
#define STAYS __asm__ volatile("" : : : "memory")

static __attribute__((noinline)) void nap(void)
{
	const struct timespec time = {.tv_nsec = STUCK_MS * 1000000L};
	char filling[700];

	/* Stale frames lie where this one's variables are. */
	__asm__ volatile("" : : "r"(filling) : "memory");
	if (nanosleep(&time, NULL) != 0)
		abort();
	STAYS;
}

static __attribute__((noinline)) unsigned dive(unsigned depth)
{
	unsigned sum = depth;

	if (depth > 0)
		sum += dive(depth - 1);
	STAYS;
	return sum;
}

static __attribute__((noinline)) void nap_after_deep_calls(void)
{
	(void)dive(30);
	nap();
	STAYS;
}

static __attribute__((noinline)) void burn(void)
{
	int64_t end_ns = deadline_now_ns() + STUCK_MS * INT64_C(1000000);

	while (deadline_now_ns() < end_ns)
		for (int i = 0; i < 100000; i++)
			STAYS;
}

static int compare(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

/* Computes in a function of the C library that calls back. */
static __attribute__((noinline)) void sort(void)
{
	int64_t end_ns = deadline_now_ns() + STUCK_MS * INT64_C(1000000);
	int numbers[500];

	while (deadline_now_ns() < end_ns) {
		for (int i = 0; i < 500; i++)
			numbers[i] = i * 7919 % 500;
		qsort(numbers, 500, sizeof(numbers[0]), compare);
	}
	STAYS;
}

static __attribute__((noinline)) void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	STAYS;
}

static __attribute__((noinline)) void spin_until_go(void)
{
	while (!atomic_load(&go))
		continue;
}

static struct stuck *of_task(struct task *task)
{
	return (struct stuck *)((char *)task - offsetof(struct stuck, task));
}

static int run(struct task *task)
{
	struct stuck *stuck = of_task(task);
	int64_t start_ns = deadline_now_ns();

	errno = 4711;
	stuck->how();
	stuck->errno_after = errno;
	stuck->took_ns = deadline_now_ns() - start_ns;
	for (int i = 0; i < 3; i++)
		stuck->parks += task_park(deadline_in_ns(100000)) == -ETIMEDOUT;
	return 17;
}

static void done(struct task *task)
{
	countdown_arrive(&of_task(task)->over);
}

static struct executor *start(unsigned spares)
{
	struct executor_options options = options_for(10);

	options.threads = 1;
	options.spare_drivers = spares;
	options.pinned_threshold_ms = 5;
	return start_executor_with(&options);
}

static void begin(struct stuck *stuck, struct executor *executor, void (*how)(void))
{
	*stuck = (struct stuck){.how = how, .task = {.run = run, .done = done, .name = "stuck"}};
	countdown_init(&stuck->over, 1);
	assert_int_equal(executor_submit(executor, &stuck->task), 0);
}

/* The task's carrier was taken and it has ended, whole. */
static void end(struct stuck *stuck)
{
	countdown_wait(&stuck->over);
	countdown_finish(&stuck->over);
	assert_int_equal(stuck->task.result, 17);
	assert_int_equal(stuck->errno_after, 4711);
	assert_int_equal(stuck->parks, 3);
}

/* The kind of the first event, once there is one with a stack; that is in @snapshot. */
static enum pinned_kind await_stack(struct executor *executor, struct stack_snapshot *snapshot)
{
	struct deadline patience = deadline_in_ms(PATIENCE_MS);
	struct pinned_event event;
	uint64_t next = 0;

	while (executor_pinned_events(executor, &next, &event, 1) == 0 ||
	       !executor_pinned_stack(executor, event.number, snapshot)) {
		next = 0;
		assert_true(deadline_remaining_ns(patience) > 0);
		sched_yield();
	}
	return event.kind;
}

/* Each of @names must be there, in this order; NULL at the end. The last must be the outermost. */
static void check_names(const struct stack_snapshot *snapshot, const char *const *names)
{
	struct stack_frame frames[STACK_FRAMES_MAX];
	struct stack_tracer *tracer;
	unsigned count, found = 0;
	const char *last = "";

	assert_int_equal(stack_tracer_open(&tracer), 0);
	count = stack_tracer_read(tracer, snapshot, frames);
	for (unsigned i = 0; i < count; i++) {
		print_message("# %s %s:%d\n", frames[i].function, frames[i].file, frames[i].line);
		last = frames[i].function;
		if (names[found] && strcmp(frames[i].function, names[found]) == 0) {
			assert_true(frames[i].is_own);
			assert_non_null(strstr(frames[i].file, "tests/unit/test_stack_trace.c"));
			/* An instruction that the compiler has added may have none; no call is. */
			assert_true(i == 0 || frames[i].line > 0);
			found++;
		} else {
			/* Nothing that has already returned. */
			assert_string_not_equal(frames[i].function, "dive");
		}
	}
	assert_null(names[found]);
	assert_string_equal(last, "run");
	stack_tracer_close(tracer);
}

static void check_stuck(void (*how)(void), enum pinned_kind kind, const char *const *names)
{
	static struct stack_snapshot snapshot;
	struct executor *executor = start(4);
	struct stuck stuck;

	begin(&stuck, executor, how);
	assert_int_equal(await_stack(executor, &snapshot), kind);
	end(&stuck);
	assert_true(stuck.took_ns >= STUCK_MS * INT64_C(1000000));
	check_names(&snapshot, names);
	executor_destroy(executor);
}

static void names_who_sleeps_and_lets_it_sleep_on(void **state)
{
	(void)state;
	check_stuck(nap, PINNED_SYSCALL, (const char *const[]){"nap", "run", NULL});
}

static void leaves_out_what_has_returned(void **state)
{
	(void)state;
	check_stuck(nap_after_deep_calls, PINNED_SYSCALL,
	            (const char *const[]){"nap", "nap_after_deep_calls", "run", NULL});
}

static void names_who_waits_for_a_lock(void **state)
{
	static struct stack_snapshot snapshot;
	struct executor *executor = start(4);
	struct stuck stuck;

	(void)state;
	pthread_mutex_lock(&lock);
	begin(&stuck, executor, wait_for_lock);
	assert_int_equal(await_stack(executor, &snapshot), PINNED_LOCK);
	pthread_mutex_unlock(&lock);
	end(&stuck);
	check_names(&snapshot, (const char *const[]){"wait_for_lock", "run", NULL});
	executor_destroy(executor);
}

static void without_a_spare_names_who_sleeps_too(void **state)
{
	static struct stack_snapshot snapshot;
	struct executor *executor = start(0);
	struct stuck stuck;

	(void)state;
	begin(&stuck, executor, nap);
	assert_int_equal(await_stack(executor, &snapshot), PINNED_SYSCALL);
	end(&stuck);
	check_names(&snapshot, (const char *const[]){"nap", "run", NULL});
	executor_destroy(executor);
}

static void names_who_computes(void **state)
{
	(void)state;
	check_stuck(burn, PINNED_CPU, (const char *const[]){"burn", "run", NULL});
}

static void names_who_computes_in_a_library(void **state)
{
	(void)state;
	check_stuck(sort, PINNED_CPU, (const char *const[]){"sort", "run", NULL});
}

static void without_a_spare_names_who_computes_too(void **state)
{
	static struct stack_snapshot snapshot;
	struct executor *executor = start(0);
	struct stuck stuck;

	(void)state;
	atomic_store(&go, false);
	begin(&stuck, executor, spin_until_go);
	assert_int_equal(await_stack(executor, &snapshot), PINNED_CPU);
	atomic_store(&go, true);
	end(&stuck);
	check_names(&snapshot, (const char *const[]){"spin_until_go", "run", NULL});
	executor_destroy(executor);
}

/* Not under the thread sanitizer: see stack_signal.h. */
enum { BY_SIGNAL = 3 };

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_who_sleeps_and_lets_it_sleep_on),
		cmocka_unit_test(leaves_out_what_has_returned),
		cmocka_unit_test(names_who_waits_for_a_lock),
		cmocka_unit_test(without_a_spare_names_who_sleeps_too),
		cmocka_unit_test(names_who_computes),
		cmocka_unit_test(names_who_computes_in_a_library),
		cmocka_unit_test(without_a_spare_names_who_computes_too),
	};
	size_t count = sizeof(tests) / sizeof(tests[0]) - (ASKS_BY_SIGNAL ? 0 : BY_SIGNAL);

	executor_under_test = "coroutine";
	return _cmocka_run_group_tests("stack_trace", tests, count, NULL, NULL);
}
