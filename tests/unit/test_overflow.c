#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executors/coroutine/coroutine.h"
#include "executors/executor_ops.h"
#include "executors/latch.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"
#include "tests/with_cmocka.h"

/* Each case is a child process with an executor of its own, whose death is looked at. */
struct death {
	int status;
	char said[8192]; /* on stderr */
};

struct scenario {
	enum stack_guard guard;
	int (*run)(struct task *task);
	void (*before)(void); /* may be NULL */
};

static struct countdown over;

static void task_done(struct task *task)
{
	(void)task;
	countdown_arrive(&over);
}

static void be_the_child(const struct scenario *scenario, int error_fd)
{
	struct executor_options options = options_for(1);
	struct task task = {.run = scenario->run, .done = task_done, .name = "/deep"};
	struct executor *executor = NULL;

	(void)dup2(error_fd, STDERR_FILENO);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	(void)signal(SIGSEGV, SIG_DFL); /* it is cmocka's in a test */
	options.stack_guard = scenario->guard;
	if (scenario->before)
		scenario->before();
	countdown_init(&over, 1);
	if (executor_create("coroutine", &options, &executor) == 0 &&
	    executor_submit(executor, &task) == 0)
		countdown_wait(&over);
	executor_destroy(executor);
	_exit(0);
}

static struct death die_in(const struct scenario *scenario)
{
	struct death death = {0};
	size_t bytes = 0;
	ssize_t got;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		be_the_child(scenario, ends[1]);
	close(ends[1]);
	while (bytes < sizeof(death.said) - 1 &&
	       (got = read(ends[0], death.said + bytes, sizeof(death.said) - 1 - bytes)) > 0)
		bytes += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(child, &death.status, 0), child);
	return death;
}

static void check_message(const struct death *death)
{
	char expected[200];
	size_t stack_bytes = (size_t)128 * 1024 * STACK_SCALE;

	assert_in_range(snprintf(expected, sizeof(expected),
	                         "fanoutd: stack overflow in task \"/deep\" (%zu bytes): "
	                         "raise --stack-bytes\n",
	                         stack_bytes),
	                1, sizeof(expected) - 1);
	assert_non_null(strstr(death->said, expected));
}

static int write_below(struct task *task)
{
	struct coroutine *coroutine = task->seat;

	coroutine->stack->low[-1000] = 1;
	return 0;
}

static void a_broken_canary_names_the_task_and_aborts(void **state)
{
	struct death death = die_in(&(struct scenario){STACK_GUARD_CANARY, write_below, NULL});

	(void)state;
	assert_true(WIFSIGNALED(death.status));
	assert_int_equal(WTERMSIG(death.status), SIGABRT);
	check_message(&death);
}

static int behave(struct task *task)
{
	(void)task;
	return 0;
}

static void a_task_that_behaves_breaks_no_canary(void **state)
{
	struct death death = die_in(&(struct scenario){STACK_GUARD_CANARY, behave, NULL});

	(void)state;
	assert_true(WIFEXITED(death.status));
	assert_int_equal(WEXITSTATUS(death.status), 0);
	assert_string_equal(death.said, "");
}

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
	char frame[200];
	unsigned result = 0;

	__asm__ volatile("" : : "r"(frame) : "memory");
	if (depth > 0)
		result = recurse(depth - 1);
	__asm__ volatile("" : "+r"(result) : "r"(frame) : "memory");
	return result + 1;
}

static int overflow(struct task *task)
{
	(void)task;
	return (int)recurse(1000000);
}

static int overflow_after_a_wait(struct task *task)
{
	int error = task_sleep_until(deadline_in_ms(1));

	return error < 0 ? error : overflow(task);
}

static void check_overflow(enum stack_guard guard, int (*run)(struct task *task))
{
	struct death death = die_in(&(struct scenario){guard, run, NULL});

	assert_true(WIFSIGNALED(death.status));
	assert_int_equal(WTERMSIG(death.status), SIGSEGV);
	check_message(&death);
}

static void an_overflow_into_a_guard_by_madvise_names_the_task(void **state)
{
	(void)state;
	check_overflow(STACK_GUARD_AUTO, overflow);
	check_overflow(STACK_GUARD_AUTO, overflow_after_a_wait);
}

static void an_overflow_into_a_guard_by_mprotect_names_the_task(void **state)
{
	(void)state;
	check_overflow(STACK_GUARD_MPROTECT, overflow);
	check_overflow(STACK_GUARD_MPROTECT, overflow_after_a_wait);
}

static int touch_null(struct task *task)
{
	char *nowhere = NULL;

	(void)task;
	__asm__("" : "+r"(nowhere));
	*nowhere = 1;
	return 0;
}

/* What a child's report calls upon the child's stack. */
static void overflow_in_offer(struct executor *executor, struct scope *scope)
{
	(void)executor;
	(void)scope;
	(void)recurse(1000000);
}

struct deep_child {
	struct task task;
	struct latch all_forked;
};

/* Its report has the next one offered, to an executor whose offer() is the above. */
static int return_into_an_overflow(struct task *task)
{
	static const struct executor_ops ops = {.offer = overflow_in_offer};
	static struct executor executor = {.ops = &ops, .live = 100}; /* the parent takes of it */
	int error = latch_wait(&((struct deep_child *)task)->all_forked, DEADLINE_NEVER);

	task->scope->executor = &executor;
	return error;
}

static int fork_two(struct task *task)
{
	struct deep_child deep = {.task = {.run = return_into_an_overflow, .name = "/deep"}};
	struct task next = {.run = behave, .name = "/next"};
	struct scope scope;

	(void)task;
	latch_init(&deep.all_forked, 1);
	scope_open(&scope, &(struct scope_options){.max_parallel = 1});
	if (scope_fork(&scope, &deep.task) < 0 || scope_fork(&scope, &next) < 0)
		abort();
	latch_arrive(&deep.all_forked);
	return scope_join(&scope);
}

static void an_overflow_while_a_task_is_ended_names_the_task(void **state)
{
	(void)state;
	check_overflow(STACK_GUARD_AUTO, fork_two);
}

static void another_fault_is_no_overflow(void **state)
{
	struct death death = die_in(&(struct scenario){STACK_GUARD_AUTO, touch_null, NULL});

	(void)state;
	assert_true(WIFSIGNALED(death.status));
	assert_int_equal(WTERMSIG(death.status), SIGSEGV);
	assert_string_equal(death.said, "");
}

static void say_and_leave(int signal_number)
{
	(void)signal_number;
	_exit(write(STDERR_FILENO, "mine", 4) == 4 ? 7 : 8);
}

static void handle_faults(void)
{
	(void)signal(SIGSEGV, say_and_leave);
}

static void another_fault_goes_to_the_handler_that_was_there(void **state)
{
	struct death death =
		die_in(&(struct scenario){STACK_GUARD_AUTO, touch_null, handle_faults});

	(void)state;
	assert_true(WIFEXITED(death.status));
	assert_int_equal(WEXITSTATUS(death.status), 7);
	assert_string_equal(death.said, "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broken_canary_names_the_task_and_aborts),
		cmocka_unit_test(a_task_that_behaves_breaks_no_canary),
		/* The rest needs the handler: see executors/meson.build. */
		cmocka_unit_test(an_overflow_into_a_guard_by_madvise_names_the_task),
		cmocka_unit_test(an_overflow_into_a_guard_by_mprotect_names_the_task),
		cmocka_unit_test(an_overflow_while_a_task_is_ended_names_the_task),
		cmocka_unit_test(another_fault_is_no_overflow),
		cmocka_unit_test(another_fault_goes_to_the_handler_that_was_there),
	};
	size_t count = CATCHES_OVERFLOW ? sizeof(tests) / sizeof(tests[0]) : 2;

	executor_under_test = "coroutine";
	return _cmocka_run_group_tests("overflow", tests, count, NULL, NULL);
}
