#include <errno.h>

#include "clients/connection_gate.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Who may have a connection, and who gets one next. */

enum { MOST = 40, LIMIT = 3, PLACES = 3, ROUNDS = 50 };

static struct connection_gate gate;
static struct connection_gate_place places[PLACES];
static atomic_uint inside, most_inside, entered;

static int setup(void **state)
{
	(void)state;
	connection_gate_init(&gate, LIMIT);
	for (int i = 0; i < PLACES; i++)
		connection_gate_place_init(&places[i]);
	atomic_store(&inside, 0);
	atomic_store(&most_inside, 0);
	atomic_store(&entered, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	connection_gate_finish(&gate);
	return 0;
}

struct guest {
	struct task task; /* first */
	unsigned number;
	unsigned place;
	struct deadline deadline;
	unsigned entered_as; /* the how manieth to get in */
};

static struct guest guests[MOST];

static int fork_guests(unsigned count, int (*run)(struct task *task))
{
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < count; i++) {
		guests[i] = (struct guest){.task.run = run, .number = i, .place = i % PLACES};
		error |= scope_fork(&scope, &guests[i].task);
	}
	return scope_join(&scope) | error;
}

static void go_in(void)
{
	unsigned now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&most_inside);

	while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now))
		;
}

static int come_and_go(struct task *task)
{
	struct guest *guest = (struct guest *)task;
	struct connection_gate_place *place = &places[guest->place];

	for (int i = 0; i < ROUNDS; i++) {
		if (connection_gate_enter(&gate, place, DEADLINE_NEVER) < 0)
			return -EPROTO;
		go_in();
		task_yield();
		atomic_fetch_sub(&inside, 1);
		(void)connection_gate_leave(&gate, place);
	}
	return 0;
}

static int run_crowd(void *arg)
{
	(void)arg;
	return fork_guests(MOST, come_and_go);
}

static void no_more_are_in_than_may_be_and_all_get_in(void **state)
{
	struct executor *executor = start_executor(MOST + 1);

	(void)state;
	assert_int_equal(run_in_task(executor, run_crowd, NULL), 0);
	executor_destroy(executor);
	for (int i = 0; i < MOST; i++)
		assert_int_equal(guests[i].task.result, 0);
	assert_in_range(atomic_load(&most_inside), 1, LIMIT);
	assert_int_equal(atomic_load(&gate.waiting), 0);
}

static int come_in_time(struct task *task)
{
	struct guest *guest = (struct guest *)task;

	return connection_gate_enter(&gate, &places[guest->place], deadline_in_ms(10));
}

static int fill_and_wait(void *arg)
{
	unsigned got = 0;

	(void)arg;
	while (connection_gate_try_enter(&gate))
		got++;
	if (got != LIMIT || fork_guests(5, come_in_time) != 0)
		return -EPROTO;
	for (unsigned i = 0; i < LIMIT; i++)
		if (connection_gate_leave(&gate, &places[0])) /* nobody waits any more */
			return -EPROTO;
	return 0;
}

static void who_waits_in_vain_leaves_no_trace(void **state)
{
	struct executor *executor = start_executor(10);

	(void)state;
	assert_int_equal(run_in_task(executor, fill_and_wait, NULL), 0);
	executor_destroy(executor);
	for (int i = 0; i < 5; i++)
		assert_int_equal(guests[i].task.result, -ETIMEDOUT);
	assert_int_equal(atomic_load(&gate.in_use), 0);
}

static int enter_once(struct task *task)
{
	struct guest *guest = (struct guest *)task;
	int error = connection_gate_enter(&gate, &places[guest->place], DEADLINE_NEVER);

	guest->entered_as = atomic_fetch_add(&entered, 1) + 1;
	return error;
}

/* All of them wait, in the order of their numbers; then those who are in leave, from the place 0.
 */
static int make_way_from_one_place(void *arg)
{
	struct scope scope;
	unsigned *elsewhere = arg;
	int error = 0;

	while (connection_gate_try_enter(&gate))
		;
	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < MOST; i++) {
		guests[i] = (struct guest){.task.run = enter_once, .place = i < MOST / 2 ? 0 : 1};
		error |= scope_fork(&scope, &guests[i].task);
		while (atomic_load(&gate.waiting) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	for (unsigned i = 0; i < MOST; i++) {
		*elsewhere += connection_gate_leave(&gate, &places[0]);
		while (atomic_load(&entered) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	error |= scope_join(&scope);
	for (unsigned i = 0; i < LIMIT; i++)
		(void)connection_gate_leave(&gate, &places[0]);
	return error;
}

static void who_leaves_makes_way_at_its_own_place_first_and_then_elsewhere(void **state)
{
	struct executor *executor = start_executor(MOST + 1);
	unsigned elsewhere = 0;

	(void)state;
	assert_int_equal(run_in_task(executor, make_way_from_one_place, &elsewhere), 0);
	executor_destroy(executor);
	for (unsigned i = 0; i < MOST; i++)
		assert_int_equal(guests[i].entered_as, i + 1);
	assert_int_equal(elsewhere, MOST / 2);
}

/* The place that came first has many who wait, the other one has one. */
static int keep_a_place_busy(void *arg)
{
	struct scope scope;
	int error = 0;

	while (connection_gate_try_enter(&gate))
		;
	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < MOST; i++) {
		guests[i] = (struct guest){.task.run = enter_once, .place = i > 0};
		error |= scope_fork(&scope, &guests[i].task);
		while (atomic_load(&gate.waiting) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	for (unsigned i = 0; i < MOST; i++) {
		(void)connection_gate_leave(&gate, &places[1]);
		while (atomic_load(&entered) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	error |= scope_join(&scope);
	for (unsigned i = 0; i < LIMIT; i++)
		(void)connection_gate_leave(&gate, &places[1]);
	(void)arg;
	return error;
}

static void a_busy_place_does_not_starve_another(void **state)
{
	struct executor *executor = start_executor(MOST + 1);

	(void)state;
	assert_int_equal(run_in_task(executor, keep_a_place_busy, NULL), 0);
	executor_destroy(executor);
	assert_in_range(guests[0].entered_as, 2, 16);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(no_more_are_in_than_may_be_and_all_get_in, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(who_waits_in_vain_leaves_no_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(
			who_leaves_makes_way_at_its_own_place_first_and_then_elsewhere, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_busy_place_does_not_starve_another, setup,
	                                        teardown),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
