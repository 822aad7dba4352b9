#include <errno.h>

#include "clients/connection_gate.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Who may have a connection, and who gets one next. A connection is a number here. */

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
	unsigned place;
	void *given;         /* a connection, or NULL: room */
	unsigned entered_as; /* the how manieth to get in */
};

static struct guest guests[MOST];

static int fork_guests(unsigned count, int (*run)(struct task *task))
{
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < count; i++) {
		guests[i] = (struct guest){.task.run = run, .place = i % PLACES};
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

static int a_connection, another_connection;

static bool fits_if_same(const struct connection_offer *offer, const void *wanted)
{
	return offer->connection == wanted;
}

static int take_or_wait(struct guest *guest)
{
	if (connection_gate_take(&gate))
		return 0;
	return connection_gate_wait(&gate, &places[guest->place], &a_connection, DEADLINE_NEVER,
	                            &guest->given);
}

/* A connection, or the room that was had for one. */
static void pass_or_close(struct guest *guest)
{
	const struct connection_offer offer = {&a_connection, fits_if_same};
	enum connection_use use = connection_gate_pass(&gate, &places[guest->place], &offer);

	if (use == CONNECTION_PASSED_ON)
		return;
	if (use == CONNECTION_ELSEWHERE &&
	    connection_gate_give(&gate, &places[guest->place], &offer))
		return;
	connection_gate_leave(&gate);
}

static int come_and_go(struct task *task)
{
	struct guest *guest = (struct guest *)task;

	for (int i = 0; i < ROUNDS; i++) {
		if (take_or_wait(guest) < 0)
			return -EPROTO;
		go_in();
		task_yield();
		atomic_fetch_sub(&inside, 1);
		pass_or_close(guest);
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

	return connection_gate_wait(&gate, &places[guest->place], NULL, deadline_in_ms(10),
	                            &guest->given);
}

static int fill_and_wait(void *arg)
{
	unsigned got = 0;

	(void)arg;
	while (connection_gate_take(&gate))
		got++;
	if (got != LIMIT || fork_guests(5, come_in_time) != 0)
		return -EPROTO;
	for (unsigned i = 0; i < LIMIT; i++)
		connection_gate_leave(&gate);
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
	assert_int_equal(atomic_load(&gate.taken), 0);
	assert_int_equal(atomic_load(&gate.waiting), 0);
}

static int enter_once(struct task *task)
{
	struct guest *guest = (struct guest *)task;
	int error = connection_gate_wait(&gate, &places[guest->place], &a_connection,
	                                 DEADLINE_NEVER, &guest->given);

	guest->entered_as = atomic_fetch_add(&entered, 1) + 1;
	return error;
}

/* All of them wait, in the order of their numbers, the first @at_place_0 of them there; then
 * @make_way is called for each. */
struct queue {
	unsigned at_place_0;
	void (*make_way)(struct queue *queue);
	unsigned passed_on, elsewhere;
};

static int run_queue(void *arg)
{
	struct queue *queue = arg;
	struct scope scope;
	int error = 0;

	while (connection_gate_take(&gate))
		;
	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < MOST; i++) {
		guests[i] = (struct guest){.task.run = enter_once, .place = i >= queue->at_place_0};
		error |= scope_fork(&scope, &guests[i].task);
		while (atomic_load(&gate.waiting) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	for (unsigned i = 0; i < MOST; i++) {
		queue->make_way(queue);
		while (atomic_load(&entered) <= i)
			(void)task_park_masked(deadline_in_ns(10000));
	}
	error |= scope_join(&scope);
	for (unsigned i = 0; i < LIMIT; i++)
		connection_gate_leave(&gate);
	return error;
}

static void run(struct queue *queue)
{
	struct executor *executor = start_executor(MOST + 1);

	assert_int_equal(run_in_task(executor, run_queue, queue), 0);
	executor_destroy(executor);
}

static void pass_at(struct queue *queue, unsigned place, void *connection)
{
	const struct connection_offer offer = {connection, fits_if_same};

	switch (connection_gate_pass(&gate, &places[place], &offer)) {
	case CONNECTION_PASSED_ON:
		queue->passed_on++;
		break;
	case CONNECTION_ELSEWHERE:
		queue->elsewhere++;
		if (!connection_gate_give(&gate, &places[place], &offer))
			connection_gate_leave(&gate);
		break;
	case CONNECTION_IDLE:
		break;
	}
}

static void pass_at_place_0(struct queue *queue)
{
	pass_at(queue, 0, &a_connection);
}

static void pass_at_place_1(struct queue *queue)
{
	pass_at(queue, 1, &a_connection);
}

static void pass_what_does_not_fit(struct queue *queue)
{
	pass_at(queue, 0, &another_connection);
}

static void a_connection_goes_to_its_own_place_and_else_elsewhere(void **state)
{
	struct queue queue = {.at_place_0 = 10, .make_way = pass_at_place_0};

	(void)state;
	run(&queue);
	for (unsigned i = 0; i < MOST; i++) {
		assert_int_equal(guests[i].entered_as, i + 1);
		assert_ptr_equal(guests[i].given, &a_connection);
	}
	assert_int_equal(queue.passed_on, 10);
	assert_int_equal(queue.elsewhere, MOST - 10);
}

static void a_busy_place_does_not_starve_another(void **state)
{
	struct queue queue = {.at_place_0 = 1, .make_way = pass_at_place_1};

	(void)state;
	run(&queue);
	assert_in_range(guests[0].entered_as, 2, 16);
	assert_int_equal(queue.passed_on, MOST - 1);
	assert_int_equal(queue.elsewhere, 1);
}

static void what_does_not_fit_makes_room(void **state)
{
	struct queue queue = {.at_place_0 = MOST / 2, .make_way = pass_what_does_not_fit};

	(void)state;
	run(&queue);
	for (unsigned i = 0; i < MOST; i++) {
		assert_int_equal(guests[i].entered_as, i + 1);
		assert_null(guests[i].given);
	}
	assert_int_equal(queue.passed_on, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(no_more_are_in_than_may_be_and_all_get_in, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(who_waits_in_vain_leaves_no_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_connection_goes_to_its_own_place_and_else_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(a_busy_place_does_not_starve_another, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_makes_room, setup, teardown),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
