#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executors/offload.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Work handed to the lanes' threads, while the task that wants it parks. */

enum { MANY = 30 };

/* What the functions do: count themselves, and stay until the gate is open. */
static struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned entered, inside, peak; /* lock */
	bool is_open;                   /* lock */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int pass_gate(void *arg)
{
	pthread_mutex_lock(&gate.lock);
	gate.entered++;
	gate.inside++;
	if (gate.inside > gate.peak)
		gate.peak = gate.inside;
	pthread_cond_broadcast(&gate.changed);
	while (!gate.is_open)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.inside--;
	pthread_mutex_unlock(&gate.lock);
	return *(const int *)arg;
}

static void set_gate(bool is_open)
{
	pthread_mutex_lock(&gate.lock);
	if (!is_open)
		gate.entered = gate.inside = gate.peak = 0;
	gate.is_open = is_open;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static void await_entered(unsigned count)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.entered < count)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

struct request {
	struct task task;
	struct offload *offload;
	enum offload_lane lane;
	struct deadline deadline;
	int argument;
	struct countdown *over;
};

static int offload_it(struct task *task)
{
	struct request *request = (struct request *)task;

	return task_offload(request->offload, request->lane, pass_gate, &request->argument,
	                    request->deadline);
}

static void request_done(struct task *task)
{
	countdown_arrive(((struct request *)task)->over);
}

static struct offload *create(const struct offload_options *options)
{
	struct offload *offload = NULL;

	assert_int_equal(offload_create(options, &offload), 0);
	return offload;
}

static struct request request_on(struct offload *offload, enum offload_lane lane,
                                 struct countdown *over)
{
	return (struct request){
		.task = {.run = offload_it, .done = request_done},
		.offload = offload,
		.lane = lane,
		.deadline = DEADLINE_NEVER,
		.over = over,
	};
}

static void await_waiting(struct offload *offload, enum offload_lane lane, unsigned count)
{
	struct offload_stats stats;

	do {
		sched_yield();
		offload_stats(offload, lane, &stats);
	} while (stats.waiting != count);
}

static void await_threads(struct offload *offload, enum offload_lane lane, unsigned count)
{
	struct offload_stats stats;

	do {
		sched_yield();
		offload_stats(offload, lane, &stats);
	} while (stats.threads != count);
}

/* Submit @count of them, as many as may run at once, and open the gate when @entering are in. */
static void run_requests(struct offload *offload, enum offload_lane lane, unsigned count,
                         unsigned entering)
{
	struct executor *executor = start_executor(count);
	struct request requests[MANY];
	struct countdown over;

	countdown_init(&over, count);
	set_gate(false);
	for (unsigned i = 0; i < count; i++) {
		requests[i] = request_on(offload, lane, &over);
		requests[i].argument = -(int)i;
		assert_int_equal(executor_submit(executor, &requests[i].task), 0);
	}
	await_entered(entering);
	await_waiting(offload, lane, count - entering);
	set_gate(true);
	countdown_wait(&over);
	countdown_finish(&over);
	executor_destroy(executor);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(requests[i].task.result, -(int)i);
	assert_int_equal(gate.peak, entering);
	assert_int_equal(gate.entered, count);
}

static void calls_block_side_by_side_and_their_results_come_back(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 1});

	(void)state;
	run_requests(offload, OFFLOAD_BLOCKING, MANY, MANY);
	offload_destroy(offload);
}

static void no_more_threads_than_allowed(void **state)
{
	struct offload *offload = create(&(struct offload_options){.max_blocking = 5, .cpus = 3});

	(void)state;
	run_requests(offload, OFFLOAD_BLOCKING, MANY, 5);
	run_requests(offload, OFFLOAD_CPU, MANY, 3);
	offload_destroy(offload);
}

/* Where a function runs. */
struct place {
	struct offload *offload;
	pthread_t thread;
	int nice;
	const struct task *task;
};

static int see_place(void *arg)
{
	struct place *place = arg;

	place->thread = pthread_self();
	place->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	place->task = task_current();
	return 1;
}

static int see_both_lanes(void *arg)
{
	struct place *place = arg;
	int usual = getpriority(PRIO_PROCESS, (id_t)gettid());

	for (int lane = 0; lane < OFFLOAD_LANES; lane++) {
		int expected = lane == OFFLOAD_CPU && usual < 10 ? 10 : usual;

		if (task_offload(place->offload, (enum offload_lane)lane, see_place, place,
		                 DEADLINE_NEVER) != 1)
			return -EPROTO;
		if (pthread_equal(place->thread, pthread_self()) || place->task)
			return -EPROTO;
		if (place->nice != expected)
			return -EPROTO;
	}
	return 0;
}

static void a_call_is_on_a_thread_of_its_lane(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 1});
	struct executor *executor = start_executor(1);
	struct place place = {.offload = offload};

	(void)state;
	assert_int_equal(run_in_task(executor, see_both_lanes, &place), 0);
	executor_destroy(executor);
	offload_destroy(offload);
	assert_string_equal(offload_lane_name(OFFLOAD_BLOCKING), "blocking");
	assert_string_equal(offload_lane_name(OFFLOAD_CPU), "cpu");
}

/* A lane of one thread, which is in the gate; others wait behind it. */
struct congestion {
	struct offload *offload;
	struct executor *executor;
	struct countdown over;
	struct cancel cancel;
	struct request first, behind;
};

static void congestion_begin(struct congestion *congestion)
{
	*congestion = (struct congestion){
		.offload = create(&(struct offload_options){.cpus = 1}),
		.executor = start_executor(2),
	};
	cancel_init(&congestion->cancel, NULL);
	countdown_init(&congestion->over, 1);
	set_gate(false);
	congestion->first = request_on(congestion->offload, OFFLOAD_CPU, &congestion->over);
	congestion->behind = congestion->first;
	congestion->first.argument = 1;
	congestion->behind.argument = 2;
}

static void congestion_end(struct congestion *congestion)
{
	countdown_wait(&congestion->over);
	countdown_finish(&congestion->over);
	executor_destroy(congestion->executor);
	offload_destroy(congestion->offload);
	cancel_finish(&congestion->cancel);
}

static void await_one_end(struct congestion *congestion)
{
	countdown_wait(&congestion->over);
	countdown_finish(&congestion->over);
	countdown_init(&congestion->over, 1); /* for the other one */
}

static void what_waits_can_be_cancelled(void **state)
{
	struct congestion congestion;

	(void)state;
	congestion_begin(&congestion);
	congestion.behind.task.cancel = &congestion.cancel;
	assert_int_equal(executor_submit(congestion.executor, &congestion.first.task), 0);
	await_entered(1);
	assert_int_equal(executor_submit(congestion.executor, &congestion.behind.task), 0);
	await_waiting(congestion.offload, OFFLOAD_CPU, 1);
	cancel_fire(&congestion.cancel, CANCEL_CLIENT_GONE);
	await_one_end(&congestion); /* while the first is still in the gate */
	await_waiting(congestion.offload, OFFLOAD_CPU, 0);
	set_gate(true);
	congestion_end(&congestion);
	assert_int_equal(congestion.behind.task.result, -ECANCELED);
	assert_int_equal(congestion.first.task.result, 1);
	assert_int_equal(gate.entered, 1);
}

static void waiting_for_a_thread_has_a_deadline(void **state)
{
	struct congestion congestion;

	(void)state;
	congestion_begin(&congestion);
	congestion.behind.deadline = deadline_in_ms(10);
	assert_int_equal(executor_submit(congestion.executor, &congestion.first.task), 0);
	await_entered(1);
	assert_int_equal(executor_submit(congestion.executor, &congestion.behind.task), 0);
	await_one_end(&congestion);
	set_gate(true);
	congestion_end(&congestion);
	assert_int_equal(congestion.behind.task.result, -ETIMEDOUT);
	assert_int_equal(gate.entered, 1);
}

static void what_has_begun_is_waited_for(void **state)
{
	struct congestion congestion;

	(void)state;
	congestion_begin(&congestion);
	congestion.first.task.cancel = &congestion.cancel;
	congestion.first.deadline = deadline_in_ms(500); /* for it to begin, on any machine */
	assert_int_equal(executor_submit(congestion.executor, &congestion.first.task), 0);
	await_entered(1);
	cancel_fire(&congestion.cancel, CANCEL_CLIENT_GONE);
	while (deadline_remaining_ns(congestion.first.deadline) > 0)
		sched_yield();
	set_gate(true);
	congestion_end(&congestion);
	assert_int_equal(congestion.first.task.result, 1);
}

static void a_cancelled_task_starts_nothing(void **state)
{
	struct congestion congestion;
	struct offload_stats stats;

	(void)state;
	congestion_begin(&congestion);
	cancel_fire(&congestion.cancel, CANCEL_SHUTDOWN);
	congestion.first.task.cancel = &congestion.cancel;
	assert_int_equal(executor_submit(congestion.executor, &congestion.first.task), 0);
	await_one_end(&congestion);
	offload_stats(congestion.offload, OFFLOAD_CPU, &stats);
	assert_int_equal(stats.threads, 0);
	countdown_arrive(&congestion.over);
	congestion_end(&congestion);
	assert_int_equal(congestion.first.task.result, -ECANCELED);
	assert_int_equal(gate.entered, 0);
}

struct posted {
	struct offload_job job; /* first */
	struct countdown *over;
	pthread_t thread;
	int error;
};

static void note_posted(struct offload_job *job, int error)
{
	struct posted *posted = (struct posted *)job;

	posted->thread = pthread_self();
	posted->error = error;
	countdown_arrive(posted->over);
}

static void a_posted_job_runs_once_on_a_thread_of_its_lane(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 1});
	struct posted posted[MANY];
	struct countdown over;

	(void)state;
	countdown_init(&over, MANY);
	for (int i = 0; i < MANY; i++) {
		posted[i] = (struct posted){.job.run = note_posted, .over = &over, .error = 1};
		offload_post(offload, i % 2 ? OFFLOAD_CPU : OFFLOAD_BLOCKING, &posted[i].job);
	}
	countdown_wait(&over);
	countdown_finish(&over);
	offload_destroy(offload);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(posted[i].error, 0);
		assert_false(pthread_equal(posted[i].thread, pthread_self()));
	}
}

static void idle_threads_end_and_new_ones_come(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 2, .keep_alive_ns = 1});

	(void)state;
	for (int round = 0; round < 3; round++) {
		run_requests(offload, OFFLOAD_BLOCKING, 10, 10);
		await_threads(offload, OFFLOAD_BLOCKING, 0);
	}
	offload_destroy(offload);
}

static void threads_are_kept_for_a_while(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 2});
	struct offload_stats stats;

	(void)state;
	for (int round = 0; round < 3; round++)
		run_requests(offload, OFFLOAD_BLOCKING, 10, 10);
	offload_stats(offload, OFFLOAD_BLOCKING, &stats);
	/* One that has just reported its call may not have come back for the next. */
	assert_in_range(stats.threads, 10, 20);
	assert_int_equal(stats.waiting, 0);
	offload_stats(offload, OFFLOAD_CPU, &stats);
	assert_int_equal(stats.threads, 0);
	offload_destroy(offload);
}

static void the_cpu_lane_follows_its_size(void **state)
{
	struct offload *offload = create(&(struct offload_options){.cpus = 1});
	struct executor *executor = start_executor(6);
	struct request requests[6];
	struct countdown over;

	(void)state;
	countdown_init(&over, 6);
	set_gate(false);
	for (int i = 0; i < 6; i++) {
		requests[i] = request_on(offload, OFFLOAD_CPU, &over);
		assert_int_equal(executor_submit(executor, &requests[i].task), 0);
	}
	await_entered(1);
	await_waiting(offload, OFFLOAD_CPU, 5);
	offload_resize(offload, 4);
	await_entered(4);
	await_waiting(offload, OFFLOAD_CPU, 2);
	offload_resize(offload, 2);
	set_gate(true);
	countdown_wait(&over);
	await_threads(offload, OFFLOAD_CPU, 2);
	countdown_finish(&over);
	executor_destroy(executor);
	offload_destroy(offload);
	assert_int_equal(gate.peak, 4);
}

static void without_any_thread_a_call_is_refused(void **state)
{
	/* More stack than there are addresses. */
	struct offload *offload =
		create(&(struct offload_options){.cpus = 1, .stack_bytes = (size_t)1 << 52});
	struct executor *executor = start_executor(MANY);
	struct request requests[MANY];
	struct offload_stats stats;
	struct countdown over;

	(void)state;
	countdown_init(&over, MANY);
	set_gate(false);
	for (int i = 0; i < MANY; i++) {
		requests[i] = request_on(offload, (enum offload_lane)(i % OFFLOAD_LANES), &over);
		assert_int_equal(executor_submit(executor, &requests[i].task), 0);
	}
	countdown_wait(&over);
	countdown_finish(&over);
	executor_destroy(executor);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(requests[i].task.result, -EAGAIN);
	for (int lane = 0; lane < OFFLOAD_LANES; lane++) {
		offload_stats(offload, (enum offload_lane)lane, &stats);
		assert_int_equal(stats.threads, 0);
		assert_int_equal(stats.waiting, 0);
	}
	assert_int_equal(gate.entered, 0);
	offload_destroy(offload);
}

/* Calls that come, are cancelled and end while threads come and go. */
struct churn {
	struct task task;
	struct offload *offload;
	unsigned number;
	atomic_uint *calls;
};

static int count_call(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
	return 1;
}

static int offload_again_and_again(struct task *task)
{
	struct churn *churn = (struct churn *)task;
	unsigned made = 0;

	for (unsigned i = 0; i < 100; i++) {
		bool is_hasty = (i + churn->number) % 3 == 0;
		struct deadline deadline = is_hasty ? deadline_in_ns(i * 100) : DEADLINE_NEVER;
		int result = task_offload(churn->offload, (enum offload_lane)(i % OFFLOAD_LANES),
		                          count_call, churn->calls, deadline);

		if (result < 0 && (result != -ETIMEDOUT || !is_hasty))
			return result;
		made += result == 1;
		if (i % 10 == 0)
			offload_resize(churn->offload, 1 + (i + churn->number) % 4);
	}
	return (int)made;
}

static int churn_all(void *arg)
{
	struct offload *offload = arg;
	struct churn churns[MANY];
	atomic_uint calls = 0;
	struct scope scope;
	unsigned made = 0;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (unsigned i = 0; i < MANY; i++) {
		churns[i] = (struct churn){
			.task.run = offload_again_and_again,
			.offload = offload,
			.number = i,
			.calls = &calls,
		};
		error |= scope_fork(&scope, &churns[i].task);
	}
	error |= scope_join(&scope);
	for (int i = 0; i < MANY; i++)
		made += (unsigned)churns[i].task.result;
	return made == atomic_load(&calls) ? error : -EPROTO;
}

static void nothing_is_lost_while_threads_come_and_go(void **state)
{
	struct offload *offload = create(
		&(struct offload_options){.max_blocking = 4, .cpus = 2, .keep_alive_ns = 1000});
	struct executor *executor = start_executor(MANY + 1);

	(void)state;
	assert_int_equal(run_in_task(executor, churn_all, offload), 0);
	executor_destroy(executor);
	offload_destroy(offload);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_block_side_by_side_and_their_results_come_back),
		cmocka_unit_test(no_more_threads_than_allowed),
		cmocka_unit_test(a_call_is_on_a_thread_of_its_lane),
		cmocka_unit_test(what_waits_can_be_cancelled),
		cmocka_unit_test(waiting_for_a_thread_has_a_deadline),
		cmocka_unit_test(what_has_begun_is_waited_for),
		cmocka_unit_test(a_cancelled_task_starts_nothing),
		cmocka_unit_test(a_posted_job_runs_once_on_a_thread_of_its_lane),
		cmocka_unit_test(idle_threads_end_and_new_ones_come),
		cmocka_unit_test(threads_are_kept_for_a_while),
		cmocka_unit_test(the_cpu_lane_follows_its_size),
		cmocka_unit_test(without_any_thread_a_call_is_refused),
		cmocka_unit_test(nothing_is_lost_while_threads_come_and_go),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
