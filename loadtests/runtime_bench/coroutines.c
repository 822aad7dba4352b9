#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/carrier.h"
#include "executors/channel.h"
#include "executors/coroutine/fiber.h"
#include "executors/mutex.h"
#include "executors/scope.h"
#include "loadtests/runtime_bench/bench.h"

#define CHILDREN UINT64_C(1000)

enum { CONTENDERS = 8, STACK_BYTES = 64 * 1024 };

/* ------ bare_switch_ns: context_switch() alone, to another stack and back, compiled into both
 * loops. bare_switch_called_ns: the same behind a function, as a scheduler has to be called; the
 * processor pairs the return on one stack with the call on the other, and so predicts it wrongly.
 */

struct bare {
	struct fiber caller, callee;
	_Alignas(64) char stack[STACK_BYTES];
	bool stop;
};

static struct bare *bare_of(void *callee)
{
	return (struct bare *)((char *)callee - offsetof(struct bare, callee));
}

static void bare_main(void *fiber)
{
	struct bare *bare = bare_of(fiber);

	fiber_enter(&bare->callee);
	while (!bare->stop)
		fiber_switch(&bare->callee, &bare->caller);
	fiber_leave(&bare->callee, &bare->caller);
}

static void bare_switches(void *arg, uint64_t count)
{
	struct bare *bare = arg;

	for (uint64_t i = 0; i < count; i++)
		fiber_switch(&bare->caller, &bare->callee);
}

static __attribute__((noinline)) void call_switch(struct fiber *from, struct fiber *to)
{
	fiber_switch(from, to);
}

static void called_main(void *fiber)
{
	struct bare *bare = bare_of(fiber);

	fiber_enter(&bare->callee);
	while (!bare->stop)
		call_switch(&bare->callee, &bare->caller);
	fiber_leave(&bare->callee, &bare->caller);
}

static void called_switches(void *arg, uint64_t count)
{
	struct bare *bare = arg;

	for (uint64_t i = 0; i < count; i++)
		call_switch(&bare->caller, &bare->callee);
}

static void sample_bare_switch_with(struct bench *bench, const char *name,
                                    void (*callee)(void *fiber),
                                    void (*switches)(void *arg, uint64_t count))
{
	struct bare *bare = aligned_alloc(64, sizeof(*bare));

	if (!bare)
		bench_fail("no memory", -ENOMEM);
	bare->stop = false;
	fiber_adopt_thread(&bare->caller);
	fiber_init(&bare->callee, bare->stack, STACK_BYTES, callee);
	bench_sample(bench, name, 1000000, switches, bare);
	bare->stop = true;
	fiber_switch(&bare->caller, &bare->callee);
	fiber_finish(&bare->callee);
	free(bare);
}

static void sample_bare_switch(struct bench *bench)
{
	sample_bare_switch_with(bench, "bare_switch_ns", bare_main, bare_switches);
	sample_bare_switch_with(bench, "bare_switch_called_ns", called_main, called_switches);
}

/* ------ switch_ns: two tasks of one carrier that yield to each other, in the same loop, as the
 * calls of a fan-out do; one yield. switch_other_code_ns: in loops of their own, so that the
 * processor predicts the return from each yield wrongly. */

struct yielder {
	struct task task; /* first */
	atomic_bool stop; /* relaxed: only ends a loop */
};

static __attribute__((noinline)) void yield_times(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		task_yield();
}

static int yield_until_stopped(struct task *task)
{
	struct yielder *yielder = (struct yielder *)task;

	while (!atomic_load_explicit(&yielder->stop, memory_order_relaxed))
		yield_times(1000);
	return 0;
}

static int yield_elsewhere(struct task *task)
{
	struct yielder *yielder = (struct yielder *)task;

	while (!atomic_load_explicit(&yielder->stop, memory_order_relaxed))
		task_yield();
	return 0;
}

static void yields(void *arg, uint64_t count)
{
	(void)arg;
	yield_times(count / 2);
}

static void fork_one(struct scope *scope, struct task *child)
{
	int error = scope_fork(scope, child);

	if (error < 0)
		bench_fail("cannot fork a task", error);
}

static void sample_switch_with(struct bench *bench, const char *name, int (*run)(struct task *task))
{
	struct yielder other = {.task.run = run};
	struct scope scope;

	scope_open(&scope, &(struct scope_options){0});
	fork_one(&scope, &other.task);
	bench_sample(bench, name, 200000, yields, NULL);
	atomic_store_explicit(&other.stop, true, memory_order_relaxed);
	(void)scope_join(&scope);
}

static void sample_switch(void *arg)
{
	sample_switch_with(arg, "switch_ns", yield_until_stopped);
	sample_switch_with(arg, "switch_other_code_ns", yield_elsewhere);
}

/* ------ spawn_join_ns: a scope of many children that return at once, and of a single one */

static int return_at_once(struct task *task)
{
	(void)task;
	return 0;
}

static void spawn_and_join(struct task *tasks, uint64_t count)
{
	struct scope scope;

	scope_open(&scope, &(struct scope_options){0});
	for (uint64_t i = 0; i < count; i++) {
		tasks[i] = (struct task){.run = return_at_once};
		fork_one(&scope, &tasks[i]);
	}
	(void)scope_join(&scope);
}

static void spawns_of_many(void *arg, uint64_t count)
{
	for (uint64_t done = 0; done < count; done += CHILDREN)
		spawn_and_join(arg, count - done < CHILDREN ? count - done : CHILDREN);
}

static void spawns_of_one(void *arg, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		spawn_and_join(arg, 1);
}

static void sample_spawn_join(void *arg)
{
	struct task *tasks = calloc(CHILDREN, sizeof(*tasks));

	if (!tasks)
		bench_fail("no memory", -ENOMEM);
	bench_sample(arg, "spawn_join_ns", 20 * CHILDREN, spawns_of_many, tasks);
	bench_sample(arg, "spawn_join_one_ns", 10000, spawns_of_one, tasks);
	free(tasks);
}

/* ------ park_wake_ns, cross_carrier_wake_ns: two tasks that take turns; one turn */

struct turns {
	struct task other; /* first */
	struct task *players[2];
	atomic_uint next; /* whose turn it is; release, partner: the acquire of who waits */
	atomic_bool stop; /* relaxed: seen after the turn that follows it */
	struct carrier *carriers[2];
	atomic_bool started; /* release, partner: the acquire in sample_cross_carrier() */
};

static void await_turn(struct turns *turns, unsigned player)
{
	while (atomic_load_explicit(&turns->next, memory_order_acquire) != player)
		(void)task_park(DEADLINE_NEVER);
}

static void pass_turn(struct turns *turns, unsigned player)
{
	atomic_store_explicit(&turns->next, !player, memory_order_release);
	task_wake(turns->players[!player]);
}

static int play_until_stopped(struct task *task)
{
	struct turns *turns = (struct turns *)task;

	turns->carriers[1] = carrier_current();
	atomic_store_explicit(&turns->started, true, memory_order_release);
	for (;;) {
		await_turn(turns, 1);
		if (atomic_load_explicit(&turns->stop, memory_order_relaxed))
			return 0;
		pass_turn(turns, 1);
	}
}

static void play(void *arg, uint64_t count)
{
	for (uint64_t i = 0; i < count; i += 2) {
		pass_turn(arg, 0);
		await_turn(arg, 0);
	}
}

static void turns_init(struct turns *turns)
{
	*turns = (struct turns){
		.other.run = play_until_stopped,
		.players = {task_current(), &turns->other},
		.carriers = {carrier_current()},
	};
}

/* The other one is not woken once it may have returned: the join waits for it. */
static void stop_playing(struct turns *turns, struct scope *scope)
{
	atomic_store_explicit(&turns->stop, true, memory_order_relaxed);
	pass_turn(turns, 0);
	(void)scope_join(scope);
}

static void sample_park_wake(void *arg)
{
	struct turns turns;
	struct scope scope;

	turns_init(&turns);
	scope_open(&scope, &(struct scope_options){0});
	fork_one(&scope, &turns.other);
	bench_sample(arg, "park_wake_ns", 200000, play, &turns);
	stop_playing(&turns, &scope);
}

/* A carrier that is kept busy leaves the child to another one. */
static bool sample_across(struct bench *bench)
{
	struct deadline patience = deadline_in_ms(1000);
	struct turns turns;
	struct scope scope;
	bool apart;

	turns_init(&turns);
	scope_open(&scope, &(struct scope_options){0});
	fork_one(&scope, &turns.other);
	while (!atomic_load_explicit(&turns.started, memory_order_acquire) &&
	       deadline_remaining_ns(patience) > 0)
		;
	apart = atomic_load_explicit(&turns.started, memory_order_acquire) &&
	        turns.carriers[0] != turns.carriers[1];
	if (apart)
		bench_sample(bench, "cross_carrier_wake_ns", 10000, play, &turns);
	stop_playing(&turns, &scope);
	return apart;
}

static void sample_cross_carrier(void *arg)
{
	struct bench *bench = arg;

	for (int attempt = 0; attempt < 10; attempt++)
		if (sample_across(bench))
			return;
	figures_skip(&bench->figures, "cross_carrier_wake_ns", "no second carrier took the task");
}

/* ------ mutex_ns: lock and unlock; contended: eight that yield while they hold it */

static void locks(void *arg, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		(void)task_mutex_lock(arg, DEADLINE_NEVER);
		task_mutex_unlock(arg);
	}
}

struct contender {
	struct task task; /* first */
	struct task_mutex *mutex;
	uint64_t count;
};

static int contend(struct task *task)
{
	struct contender *contender = (struct contender *)task;

	for (uint64_t i = 0; i < contender->count; i++) {
		(void)task_mutex_lock(contender->mutex, DEADLINE_NEVER);
		task_yield();
		task_mutex_unlock(contender->mutex);
	}
	return 0;
}

static void contended_locks(void *arg, uint64_t count)
{
	struct contender contenders[CONTENDERS];
	struct scope scope;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < CONTENDERS; i++) {
		contenders[i] = (struct contender){.task.run = contend,
		                                   .mutex = arg,
		                                   .count = (count + CONTENDERS - 1) / CONTENDERS};
		fork_one(&scope, &contenders[i].task);
	}
	(void)scope_join(&scope);
}

static void sample_mutex(void *arg)
{
	struct task_mutex mutex;

	task_mutex_init(&mutex);
	bench_sample(arg, "mutex_ns", 200000, locks, &mutex);
	bench_sample(arg, "mutex_contended_ns", 40000, contended_locks, &mutex);
	task_mutex_finish(&mutex);
}

/* ------ channel_ns: a sender and a receiver on one carrier, with room for 64 items and for none;
 * one item */

struct receiver {
	struct task task; /* first */
	struct task_channel channel;
};

static int receive_all(struct task *task)
{
	struct receiver *receiver = (struct receiver *)task;
	uint64_t item;

	while (task_channel_receive(&receiver->channel, &item, DEADLINE_NEVER) == 0)
		;
	return 0;
}

static void send_all(void *arg, uint64_t count)
{
	for (uint64_t item = 0; item < count; item++)
		(void)task_channel_send(arg, &item, DEADLINE_NEVER);
}

static void sample_channel_of(struct bench *bench, const char *name, size_t capacity)
{
	struct receiver receiver = {.task.run = receive_all};
	int error = task_channel_init(&receiver.channel, sizeof(uint64_t), capacity);
	struct scope scope;

	if (error < 0)
		bench_fail("cannot make a channel", error);
	scope_open(&scope, &(struct scope_options){0});
	fork_one(&scope, &receiver.task);
	bench_sample(bench, name, 100000, send_all, &receiver.channel);
	task_channel_close(&receiver.channel);
	(void)scope_join(&scope);
	task_channel_finish(&receiver.channel);
}

static void sample_channel(void *arg)
{
	sample_channel_of(arg, "channel_ns", 64);
	sample_channel_of(arg, "channel_unbuffered_ns", 0);
}

void bench_coroutines(struct bench *bench)
{
	static void (*const on_one_carrier[])(void *arg) = {
		sample_switch, sample_spawn_join, sample_park_wake, sample_mutex, sample_channel,
	};
	struct executor *executor;

	sample_bare_switch(bench);
	executor = bench_executor("coroutine", 1, 200000);
	for (size_t i = 0; i < sizeof(on_one_carrier) / sizeof(on_one_carrier[0]); i++)
		bench_run(executor, on_one_carrier[i], bench);
	executor_destroy(executor);

	if (bench->cpus < 2) {
		figures_skip(&bench->figures, "cross_carrier_wake_ns", "one usable CPU");
		return;
	}
	executor = bench_executor("coroutine", 2, 200000);
	bench_run(executor, sample_cross_carrier, bench);
	executor_destroy(executor);
}
