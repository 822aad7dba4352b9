#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executors/carrier.h"
#include "executors/coroutine/coroutine.h"
#include "executors/executor.h"
#include "executors/scope.h"
#include "tests/stress/alone.h"
#include "tests/stress/happenings.h"
#include "tests/stress/shared.h"
#include "tests/with_cmocka.h"

/*
 *	stress-executors EXECUTOR [SECONDS [SEED]]
 *
 * Threads submit requests made of random forks, waits, cancellations and blocking
 * calls, to the executor under test and to one of another kind beside it. Both are
 * resized all the time, and again and again replaced: the old one is destroyed with
 * its load. Nothing may be lost: every task that was admitted has ended, and what
 * tasks share is as it was at the start. And nothing may fail to happen that the
 * load is for: each is counted.
 */

enum { SUBMITTERS = 3, SIDES = 2, MOST_CHILDREN = 30, DEEPEST = 2, BLOCKER = 40 };

static const char *side_names[SIDES];
static unsigned seconds = 2;
static uint64_t seed;
static atomic_bool is_over;

/* An executor, and what was asked of it. Relaxed: compared once all its tasks have ended. */
struct side {
	struct executor *executor;
	atomic_ullong admitted, ended, forked, ran, never_ran, refused;
};

/* Submits hold it for reading: none may be under way when an executor is destroyed. */
static pthread_rwlock_t sides_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct side *sides[SIDES]; /* sides_lock */

static void count(atomic_ullong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct child {
	struct task task;
	struct side *side;
	const struct carrier *parents_carrier;
	uint64_t state;
	int depth;
	int answer;
	bool has_run;
};

static int run_scope(struct side *side, uint64_t *state, int depth);

static void look_where_it_runs(const struct child *child)
{
	if (strcmp(task_executor_name(), "coroutine") != 0)
		return;
	if (carrier_current() != child->parents_carrier)
		happen(HAS_STOLEN);
	if (((const struct coroutine *)child->task.seat)->is_beside)
		happen(HAS_RAN_BESIDE);
}

static void take_a_step(struct child *child)
{
	uint64_t *state = &child->state;

	switch (draw_below(state, 12)) {
	case 0:
		task_yield();
		break;
	case 1:
		(void)happen_error(task_park(draw_deadline(state)));
		break;
	case 2:
		alone_be_woken_from_outside(state);
		break;
	case 3:
		alone_talk_to_itself(state);
		break;
	case 4:
		alone_set_alarm(state);
		break;
	case 5:
		shared_pass_semaphore(state);
		break;
	case 6:
		shared_pass_mutex(state);
		break;
	case 7:
		shared_use_condition(state);
		break;
	case 8:
		shared_use_channel(state);
		break;
	case 9:
		shared_offload(state);
		break;
	case 10:
		if (draw_below(state, 50) == 0)
			scope_cancel(child->task.scope, CANCEL_SIBLING_DONE);
		break;
	default:
		if (child->depth < DEEPEST)
			(void)run_scope(child->side, state, child->depth + 1);
		break;
	}
}

static int child_run(struct task *task)
{
	struct child *child = (struct child *)task;

	child->has_run = true;
	count(&child->side->ran);
	look_where_it_runs(child);
	for (unsigned steps = draw_below(&child->state, 4); steps > 0; steps--)
		take_a_step(child);
	return child->answer;
}

/* Of a class of its own, which the executor is to find heavy. */
static int blocker_run(struct task *task)
{
	alone_keep_carrier(&((struct child *)task)->state);
	return child_run(task);
}

static struct child child_make(struct side *side, uint64_t *state, int depth)
{
	bool blocks = draw_below(state, BLOCKER) == 0;

	return (struct child){
		.task = {.run = blocks ? blocker_run : child_run},
		.side = side,
		.parents_carrier = carrier_current(),
		.state = draw(state),
		.depth = depth,
		.answer = draw_below(state, 20) ? 1 : -EIO,
	};
}

/* A child that was forked has run, or its result says why not. */
static void judge_child(const struct child *child)
{
	int result = child->task.result;

	if (!child->has_run) {
		count(&child->side->never_ran);
		happen(HAS_LEFT_OUT);
	}
	if (child->has_run ? result != child->answer : result != -ECANCELED && result != -EAGAIN)
		go_wrong("the result of a child");
}

static void judge_scope(const struct scope_options *options, const struct child *children,
                        unsigned forked, int error)
{
	unsigned good = 0, bad = 0;

	for (unsigned i = 0; i < forked; i++) {
		judge_child(&children[i]);
		good += children[i].has_run && children[i].task.result >= 0;
		bad += children[i].task.result < 0;
	}
	switch (options->policy) {
	case SCOPE_FIRST:
	case SCOPE_QUORUM:
		if (error == 0 && good < (options->policy == SCOPE_FIRST ? 1 : options->quorum))
			go_wrong("a scope succeeded by too few children");
		break;
	case SCOPE_FAIL_FAST:
		if (error == 0 && bad > 0)
			go_wrong("a scope succeeded though a child failed");
		break;
	default:
		break;
	}
	happen(error == 0            ? HAS_SCOPE_SUCCEEDED
	       : error == -ECANCELED ? HAS_SCOPE_CANCELLED
	                             : HAS_SCOPE_FAILED);
}

static struct scope_options draw_scope_options(uint64_t *state)
{
	struct scope_options options = {
		.policy = (enum scope_policy)draw_below(state, SCOPE_COLLECT + 1),
		.max_parallel = draw_below(state, 5),
	};

	if (options.policy == SCOPE_QUORUM)
		options.quorum = 1 + draw_below(state, 4);
	if (draw_below(state, 6) == 0)
		options.deadline = draw_deadline(state);
	return options;
}

static unsigned fork_children(struct side *side, uint64_t *state, int depth, struct scope *scope,
                              struct child *children, unsigned size)
{
	unsigned forked = 0;

	for (unsigned i = 0; i < size; i++) {
		int error;

		children[forked] = child_make(side, state, depth);
		error = scope_fork(scope, &children[forked].task);
		forked += error == 0;
		if (error == -EAGAIN)
			count(&side->refused);
	}
	return forked;
}

/* Not always to the end: the join sees to the rest. */
static void collect(uint64_t *state, struct scope *scope)
{
	struct task *task;

	while (draw_below(state, 10) && scope_next(scope, draw_deadline(state), &task) > 0)
		happen(HAS_COLLECTED);
}

static int run_scope(struct side *side, uint64_t *state, int depth)
{
	unsigned size = draw_below(state, depth == 0 ? MOST_CHILDREN : 4), forked;
	struct scope_options options = draw_scope_options(state);
	struct child *children = calloc(size + 1, sizeof(*children));
	struct scope scope;
	int error;

	if (!children)
		return -ENOMEM;
	scope_open(&scope, &options);
	forked = fork_children(side, state, depth, &scope, children, size);
	if (options.policy == SCOPE_COLLECT)
		collect(state, &scope);
	if (draw_below(state, 10) == 0)
		scope_cancel(&scope, CANCEL_SIBLING_DONE);
	error = scope_join(&scope);
	judge_scope(&options, children, forked, error);
	atomic_fetch_add_explicit(&side->forked, forked, memory_order_relaxed);
	free(children);
	return error;
}

/* ------ requests, and who submits them */

/* Freed by the second of two: the task's end, and the submitter that may cancel it. */
struct request {
	struct task task;
	struct side *side;
	struct cancel cancel;
	uint64_t state;
	atomic_uint holders;
};

static void request_release(struct request *request)
{
	if (atomic_fetch_sub(&request->holders, 1) > 1)
		return;
	cancel_finish(&request->cancel);
	free(request);
}

static int request_run(struct task *task)
{
	struct request *request = (struct request *)task;

	return run_scope(request->side, &request->state, 0);
}

static void request_done(struct task *task)
{
	struct request *request = (struct request *)task;

	count(&request->side->ended);
	request_release(request);
}

static int submit(struct request *request, unsigned side)
{
	int error;

	pthread_rwlock_rdlock(&sides_lock);
	request->side = sides[side];
	error = executor_submit(request->side->executor, &request->task);
	count(error < 0 ? &request->side->refused : &request->side->admitted);
	pthread_rwlock_unlock(&sides_lock);
	return error;
}

/* True if it was admitted. */
static bool submit_one(uint64_t *state)
{
	struct request *request = calloc(1, sizeof(*request));

	assert_non_null(request);
	request->task =
		(struct task){.run = request_run, .done = request_done, .cancel = &request->cancel};
	request->state = draw(state);
	atomic_init(&request->holders, 2);
	cancel_init(&request->cancel, NULL);
	if (submit(request, draw_below(state, 4) == 0) < 0) {
		atomic_store(&request->holders, 1);
		request_release(request);
		return false;
	}
	if (draw_below(state, 8) == 0) {
		(void)sched_yield();
		cancel_fire(&request->cancel, CANCEL_CLIENT_GONE);
	}
	request_release(request);
	return true;
}

/* Refused, it comes again a moment later. */
static void *submitter_main(void *arg)
{
	uint64_t state = seed + *(unsigned *)arg;

	while (!atomic_load(&is_over))
		if (!submit_one(&state))
			(void)poll(NULL, 0, 1);
	return NULL;
}

/* ------ executors come and go */

/* All there are at a time, an old one included, have less than 2,000 tasks: TSan's fibers. */
static struct executor_options draw_options(uint64_t *state, const char *name)
{
	static const unsigned spares[] = {0, 2, 64};

	return (struct executor_options){
		.threads = strcmp(name, "pool") == 0 ? 32 : 1 + draw_below(state, 4),
		.max_tasks = 50 + draw_below(state, 400),
		.max_threads = 200,
		.max_queued = 50,
		.when_full = (enum when_full)draw_below(state, 3),
		.stack_bytes = 65536,
		.stack_guard = (enum stack_guard)draw_below(state, 2) ? STACK_GUARD_AUTO
	                                                              : STACK_GUARD_CANARY,
		.spare_drivers = spares[draw_below(state, 3)],
		.pinned_threshold_ms = 1,
	};
}

static struct side *side_create(uint64_t *state, const char *name)
{
	struct executor_options options = draw_options(state, name);
	struct side *side = calloc(1, sizeof(*side));

	assert_non_null(side);
	assert_int_equal(executor_create(name, &options, &side->executor), 0);
	return side;
}

static void count_held_up(struct executor *executor)
{
	struct pinned_event events[16];
	unsigned got;

	for (uint64_t next = 0; (got = executor_pinned_events(executor, &next, events, 16)) > 0;)
		for (unsigned i = 0; i < got; i++)
			if (!events[i].is_handed_over)
				happen(HAS_HELD_UP);
}

/* Nobody submits to it any more. */
static void side_destroy(struct side *side)
{
	struct executor_stats stats;
	bool was_idle;

	executor_stats(side->executor, &stats);
	count_held_up(side->executor);
	was_idle = stats.live == 0;
	executor_destroy(side->executor);
	if (!was_idle)
		happen(HAS_DESTROYED_UNDER_LOAD);
	if (was_idle && (stats.submitted != side->admitted + side->forked ||
	                 stats.refused != side->refused || stats.parked != 0))
		go_wrong("the executor has counted otherwise");
	if (side->ended != side->admitted)
		go_wrong("a request was lost");
	if (side->ran + side->never_ran != side->forked)
		go_wrong("a child was lost");
	happen_times(HAS_REFUSED, side->refused);
	free(side);
}

static void side_replace(uint64_t *state, unsigned i)
{
	struct side *young = side_create(state, side_names[i]), *old;

	pthread_rwlock_wrlock(&sides_lock);
	old = sides[i];
	sides[i] = young;
	pthread_rwlock_unlock(&sides_lock);
	side_destroy(old);
}

/* Fewer carriers than asked for: those that retire still have the drivers. */
static void side_resize(uint64_t *state, unsigned i)
{
	int error = executor_resize(sides[i]->executor, 1 + draw_below(state, 4));

	if (error == 0)
		happen(HAS_RESIZED);
	else if (error != -EAGAIN)
		go_wrong("the error of a resize");
}

static void let_time_pass(uint64_t *state)
{
	struct deadline end = deadline_in_ms(1000LL * seconds);

	while (deadline_remaining_ns(end) > 0) {
		for (unsigned i = 0; i < SIDES; i++)
			side_resize(state, i);
		shared_resize(1 + draw_below(state, 3));
		(void)poll(NULL, 0, 20);
		if (draw_below(state, 8) == 0)
			side_replace(state, draw_below(state, SIDES));
	}
	atomic_store(&is_over, true);
}

static void wait_until_idle(struct executor *executor)
{
	struct executor_stats stats;

	do {
		(void)sched_yield();
		executor_stats(executor, &stats);
	} while (stats.live > 0);
}

static void nothing_is_lost_under_random_load(void **test_state)
{
	pthread_t submitters[SUBMITTERS];
	unsigned numbers[SUBMITTERS];
	uint64_t state = seed;

	(void)test_state;
	alone_start();
	shared_start();
	for (unsigned i = 0; i < SIDES; i++)
		sides[i] = side_create(&state, side_names[i]);
	for (unsigned i = 0; i < SUBMITTERS; i++) {
		numbers[i] = i + 1;
		assert_int_equal(pthread_create(&submitters[i], NULL, submitter_main, &numbers[i]),
		                 0);
	}
	let_time_pass(&state);
	for (unsigned i = 0; i < SUBMITTERS; i++)
		assert_int_equal(pthread_join(submitters[i], NULL), 0);
	for (unsigned i = 0; i < SIDES; i++) {
		wait_until_idle(sides[i]->executor);
		side_destroy(sides[i]);
	}
	shared_finish();
	alone_finish();
	assert_int_equal(happenings_judge(strcmp(side_names[0], "coroutine") == 0
	                                          ? HAPPENINGS_OF_COROUTINES
	                                          : HAPPENINGS_EXPECTED),
	                 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_under_random_load)};

	if (argc < 2 || argc > 4) {
		(void)fprintf(stderr, "usage: %s EXECUTOR [SECONDS [SEED]]\n", argv[0]);
		return EXIT_FAILURE;
	}
	side_names[0] = argv[1];
	side_names[1] = strcmp(argv[1], "coroutine") == 0 ? "pool" : "coroutine";
	if (argc > 2)
		seconds = (unsigned)strtoul(argv[2], NULL, 10);
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)deadline_now_ns();
	print_message("# %s, %u s, seed %" PRIu64 "\n", argv[1], seconds, seed);
	return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
