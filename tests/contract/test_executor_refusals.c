#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "executors/executor.h"
#include "executors/offload.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"
#include "tests/fakes/refusals.h"
#include "tests/with_cmocka.h"

/* What becomes of executors and what is on them when the system refuses something at the k-th
 * time: an error or a success, then and there; nothing hangs, nothing is lost, and all is well
 * once the system is. */
enum { CHILDREN = 20, STEP_AFTER = 24 };

/* Each k at first; with many calls, some of them. */
static unsigned next_k(unsigned k)
{
	return k < STEP_AFTER ? k + 1 : k + k / 8;
}

static unsigned open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	assert_int_equal(closedir(directory), 0);
	return count;
}

static struct executor_options few_threads(void)
{
	struct executor_options options = options_for(4);

	options.max_threads = 100;
	options.pinned_threshold_ms = 5;
	return options;
}

/* ------ a fan-out, during which something may be refused */

struct fan_out {
	unsigned forked, ran, refused, odd;
};

static int wait_a_moment(struct task *task)
{
	(void)task;
	(void)task_sleep_until(deadline_in_ns(100000));
	return 1;
}

static int fan_out(void *arg)
{
	struct fan_out *seen = arg;
	struct task children[CHILDREN];
	struct scope scope;

	memset(seen, 0, sizeof(*seen));
	memset(children, 0, sizeof(children));
	scope_open(&scope, &(struct scope_options){.deadline = deadline_in_ms(60000)});
	for (unsigned i = 0; i < CHILDREN; i++) {
		int error;

		children[seen->forked].run = wait_a_moment;
		error = scope_fork(&scope, &children[seen->forked]);
		seen->forked += error == 0;
		seen->refused += error == -EAGAIN;
		seen->odd += error != 0 && error != -EAGAIN;
	}
	(void)scope_join(&scope);
	for (unsigned i = 0; i < seen->forked; i++) {
		seen->ran += children[i].result == 1;
		seen->refused += children[i].result == -EAGAIN;
		seen->odd += children[i].result != 1 && children[i].result != -EAGAIN;
	}
	return 0;
}

struct root {
	struct task task;
	struct fan_out seen;
	struct countdown over;
};

static int root_run(struct task *task)
{
	return fan_out(&((struct root *)task)->seen);
}

static void root_done(struct task *task)
{
	countdown_arrive(&((struct root *)task)->over);
}

/* How many of its tasks ran. */
static unsigned fan_out_on(struct executor *executor)
{
	struct root root = {.task = {.run = root_run, .done = root_done}};
	int error;

	countdown_init(&root.over, 1);
	error = executor_submit(executor, &root.task);
	if (error == 0) {
		countdown_wait(&root.over);
		error = root.task.result;
	}
	countdown_finish(&root.over);
	assert_true(error == 0 || error == -EAGAIN);
	if (error < 0)
		return 0;
	assert_int_equal(root.seen.odd, 0);
	assert_int_equal(root.seen.ran + root.seen.refused, CHILDREN);
	return root.seen.ran + 1;
}

static void assert_is_well(struct executor *executor)
{
	assert_int_equal(fan_out_on(executor), CHILDREN + 1);
}

/* ------ cases */

static void starts_or_says_why_not(void **state)
{
	struct executor_options options = few_threads();
	unsigned failures = 0, fds = open_fds();
	struct executor *executor;
	unsigned refused = 1;
	int error;

	(void)state;
	for (unsigned k = 1; refused > 0; k = next_k(k)) {
		executor = NULL;
		refuse(REFUSE_ALL, k);
		error = executor_create(executor_under_test, &options, &executor);
		refused = refusals_end();
		if (error == 0) {
			assert_is_well(executor);
			executor_destroy(executor);
		} else {
			assert_true(error == -ENOMEM || error == -EAGAIN || error == -EMFILE);
			assert_null(executor);
			failures++;
		}
		assert_int_equal(open_fds(), fds);
	}
	assert_true(failures > 0);
}

static void every_task_ends_whatever_is_refused(void **state)
{
	struct executor_options options = few_threads();
	unsigned refused = 1, attempts = 0;

	(void)state;
	for (unsigned k = 1; refused > 0; k = next_k(k), attempts++) {
		struct executor *executor = start_executor_with(&options);

		refuse(REFUSE_ALL, k);
		(void)fan_out_on(executor);
		refused = refusals_end();
		assert_is_well(executor);
		executor_destroy(executor);
	}
	assert_true(attempts > 1);
}

static void every_task_ends_if_nothing_is_to_be_had(void **state)
{
	struct executor_options options = few_threads();
	struct executor *executor = start_executor_with(&options);

	(void)state;
	for (unsigned kind = REFUSE_MEMORY; kind <= REFUSE_FDS; kind *= 2) {
		refuse_from(kind, 1);
		(void)fan_out_on(executor);
		(void)refusals_end();
		assert_is_well(executor);
	}
	executor_destroy(executor);
}

static void resizes_or_says_why_not(void **state)
{
	struct executor_options options = few_threads();
	unsigned refused = 1, failures = 0;
	struct executor_stats stats;

	(void)state;
	options.threads = 1;
	for (unsigned k = 1; refused > 0; k = next_k(k)) {
		struct executor *executor = start_executor_with(&options);
		int error;

		refuse(REFUSE_ALL, k);
		error = executor_resize(executor, 4);
		refused = refusals_end();
		assert_true(error == 0 || error == -ENOMEM || error == -EAGAIN || error == -EMFILE);
		failures += error < 0;
		executor_stats(executor, &stats);
		assert_true(error == 0 ? stats.carriers == 4 : stats.carriers < 4);
		assert_is_well(executor);
		assert_int_equal(executor_resize(executor, 4), 0);
		executor_stats(executor, &stats);
		assert_int_equal(stats.carriers, 4);
		assert_is_well(executor);
		executor_destroy(executor);
	}
	assert_true(failures > 0);
}

/* ------ a carrier that is kept, with no spare driver to be had */

static sem_t may_go_on;

static int block(struct task *task)
{
	(void)task;
	while (sem_wait(&may_go_on) < 0)
		continue;
	return 0;
}

static struct pinned_event wait_for_event(struct executor *executor, uint64_t *next)
{
	struct pinned_event event;

	while (executor_pinned_events(executor, next, &event, 1) == 0)
		(void)sched_yield();
	return event;
}

/* What is said of a task that blocks the only carrier. It goes on only when that has been said. */
static struct pinned_event block_the_carrier(struct executor *executor, uint64_t *next)
{
	struct root root = {.task = {.run = block, .done = root_done, .name = "blocks"}};
	struct pinned_event event;

	countdown_init(&root.over, 1);
	assert_int_equal(executor_submit(executor, &root.task), 0);
	event = wait_for_event(executor, next);
	assert_int_equal(sem_post(&may_go_on), 0);
	countdown_wait(&root.over);
	countdown_finish(&root.over);
	assert_int_equal(root.task.result, 0);
	return event;
}

static void without_a_spare_a_kept_carrier_waits_and_that_is_said(void **state)
{
	static const unsigned refused[] = {REFUSE_THREADS, REFUSE_MEMORY};
	struct executor_options options = few_threads();
	struct pinned_event event;

	(void)state;
	options.threads = 1;
	assert_int_equal(sem_init(&may_go_on, 0, 0), 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct executor *executor = start_executor_with(&options);
		uint64_t next = 0;

		assert_is_well(executor);
		refuse_from(refused[i], 1);
		event = block_the_carrier(executor, &next);
		assert_true(refusals_end() > 0);
		assert_false(event.is_handed_over);
		assert_is_well(executor);
		event = block_the_carrier(executor, &next);
		assert_true(event.is_handed_over);
		assert_string_equal(event.task_name, "blocks");
		assert_is_well(executor);
		executor_destroy(executor);
	}
	assert_int_equal(sem_destroy(&may_go_on), 0);
}

/* ------ what is built on tasks */

static int answer_7(void *arg)
{
	(void)arg;
	return 7;
}

struct offloading {
	struct offload *offload;
	unsigned k, refused; /* the task's own thread is not what is to be refused */
};

static int offload_to_both_lanes(void *arg)
{
	struct offloading *offloading = arg;
	int blocking, cpu;

	refuse(REFUSE_ALL, offloading->k);
	blocking =
		task_offload(offloading->offload, OFFLOAD_BLOCKING, answer_7, NULL, DEADLINE_NEVER);
	cpu = task_offload(offloading->offload, OFFLOAD_CPU, answer_7, NULL, DEADLINE_NEVER);
	offloading->refused = refusals_end();
	return blocking < 0 ? blocking : cpu < 0 ? cpu : blocking + cpu;
}

/* Refuse one after the other of what offloading asks for. Returns how often that failed. */
static unsigned offload_with_each_refused(struct executor *executor)
{
	struct offload_options options = {.cpus = 2};
	struct offloading offloading = {.refused = 1};
	unsigned failures = 0;

	for (unsigned k = 1; offloading.refused > 0; k = next_k(k)) {
		int result;

		assert_int_equal(offload_create(&options, &offloading.offload), 0);
		offloading.k = k;
		result = run_in_task(executor, offload_to_both_lanes, &offloading);
		assert_true(result == 14 || result == -EAGAIN);
		failures += result < 0;
		offload_destroy(offloading.offload);
	}
	return failures;
}

static void offloads_or_says_why_not(void **state)
{
	struct offload_options options = {.cpus = 2};
	struct executor *executor = start_executor(4);
	struct offload *offload = NULL;
	unsigned failures = 0;

	(void)state;
	refuse(REFUSE_MEMORY, 1);
	assert_int_equal(offload_create(&options, &offload), -ENOMEM);
	assert_int_equal(refusals_end(), 1);
	assert_null(offload);
	/* The executor's threads may be refused something instead: then once more. */
	for (int tries = 0; tries < 10 && failures < 2; tries++)
		failures = offload_with_each_refused(executor);
	assert_true(failures >= 2); /* the first thread of each lane */
	executor_destroy(executor);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_or_says_why_not),
		cmocka_unit_test(every_task_ends_whatever_is_refused),
		cmocka_unit_test(every_task_ends_if_nothing_is_to_be_had),
		cmocka_unit_test_prestate(resizes_or_says_why_not, "coroutine"),
		cmocka_unit_test_prestate(without_a_spare_a_kept_carrier_waits_and_that_is_said,
	                                  "coroutine"),
		cmocka_unit_test(offloads_or_says_why_not),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
