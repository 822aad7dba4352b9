#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "loadtests/runtime_bench/bench.h"

/* What coroutines.c measures, done with pthreads. */

enum { THREADS = 100, CONTENDERS = 8 };

static pthread_t start(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, fn, arg);

	if (error)
		bench_fail("cannot start a thread", -error);
	return thread;
}

static void join(pthread_t thread)
{
	int error = pthread_join(thread, NULL);

	if (error)
		bench_fail("cannot join a thread", -error);
}

/* ------ affinity: who shares a CPU, and who does not */

static cpu_set_t allowed_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		bench_fail("cannot read the CPU affinity", -errno);
	return cpus;
}

/* The allowed CPU number @index alone; the last, if there are fewer. */
static cpu_set_t one_cpu(const cpu_set_t *allowed, unsigned index)
{
	cpu_set_t one;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (index-- == 0)
			break;
	}
	return one;
}

static void run_on(const cpu_set_t *cpus)
{
	int error = pthread_setaffinity_np(pthread_self(), sizeof(*cpus), cpus);

	if (error)
		bench_fail("cannot set the CPU affinity", -error);
}

/* ------ */

static void *yield_many(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
		(void)sched_yield();
	return NULL;
}

/* The threads inherit the one CPU of this one. */
static void yields(void *arg, uint64_t count)
{
	uint64_t half = count / 2 > 0 ? count / 2 : 1;
	pthread_t other = start(yield_many, &half);

	(void)arg;
	(void)yield_many(&half);
	join(other);
}

static void *return_at_once(void *arg)
{
	return arg;
}

static void spawns_of_many(void *arg, uint64_t count)
{
	pthread_t threads[THREADS];

	(void)arg;
	for (uint64_t done = 0; done < count; done += THREADS) {
		uint64_t more = count - done < THREADS ? count - done : THREADS;

		for (uint64_t i = 0; i < more; i++)
			threads[i] = start(return_at_once, NULL);
		for (uint64_t i = 0; i < more; i++)
			join(threads[i]);
	}
}

static void spawns_of_one(void *arg, uint64_t count)
{
	(void)arg;
	for (uint64_t i = 0; i < count; i++)
		join(start(return_at_once, NULL));
}

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed[2];
	int next; /* lock */
	uint64_t rounds;
	cpu_set_t others_cpu;
};

static void play(struct turns *turns, int player)
{
	pthread_mutex_lock(&turns->lock);
	for (uint64_t i = 0; i < turns->rounds; i++) {
		while (turns->next != player)
			pthread_cond_wait(&turns->changed[player], &turns->lock);
		turns->next = !player;
		pthread_cond_signal(&turns->changed[!player]);
	}
	pthread_mutex_unlock(&turns->lock);
}

static void *play_other(void *arg)
{
	struct turns *turns = arg;

	run_on(&turns->others_cpu);
	play(turns, 1);
	return NULL;
}

static void turns_taken(void *arg, uint64_t count)
{
	struct turns *turns = arg;
	pthread_t other;

	turns->rounds = count / 2 > 0 ? count / 2 : 1;
	other = start(play_other, turns);
	play(turns, 0);
	join(other);
}

static void locks(void *arg, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		pthread_mutex_lock(arg);
		pthread_mutex_unlock(arg);
	}
}

struct contention {
	pthread_mutex_t lock;
	uint64_t each;
};

static void *contend(void *arg)
{
	struct contention *contention = arg;

	for (uint64_t i = 0; i < contention->each; i++) {
		pthread_mutex_lock(&contention->lock);
		(void)sched_yield();
		pthread_mutex_unlock(&contention->lock);
	}
	return NULL;
}

static void contended_locks(void *arg, uint64_t count)
{
	struct contention *contention = arg;
	pthread_t threads[CONTENDERS];

	contention->each = (count + CONTENDERS - 1) / CONTENDERS;
	for (int i = 0; i < CONTENDERS; i++)
		threads[i] = start(contend, contention);
	for (int i = 0; i < CONTENDERS; i++)
		join(threads[i]);
}

/* A bounded queue as one writes it with a mutex and two conditions. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t has_item, has_room;
	uint64_t items[64];
	size_t first, count; /* lock */
	uint64_t to_come;    /* the receiver's */
};

enum { QUEUE_ITEMS = sizeof(((struct queue *)0)->items) / sizeof(uint64_t) };

static void *receive_all(void *arg)
{
	struct queue *queue = arg;

	for (; queue->to_come > 0; queue->to_come--) {
		pthread_mutex_lock(&queue->lock);
		while (queue->count == 0)
			pthread_cond_wait(&queue->has_item, &queue->lock);
		queue->first = (queue->first + 1) % QUEUE_ITEMS;
		if (queue->count-- == QUEUE_ITEMS)
			pthread_cond_signal(&queue->has_room);
		pthread_mutex_unlock(&queue->lock);
	}
	return NULL;
}

static void send_all(void *arg, uint64_t count)
{
	struct queue *queue = arg;
	pthread_t receiver;

	queue->to_come = count;
	receiver = start(receive_all, queue);
	for (uint64_t item = 0; item < count; item++) {
		pthread_mutex_lock(&queue->lock);
		while (queue->count == QUEUE_ITEMS)
			pthread_cond_wait(&queue->has_room, &queue->lock);
		queue->items[(queue->first + queue->count) % QUEUE_ITEMS] = item;
		if (queue->count++ == 0)
			pthread_cond_signal(&queue->has_item);
		pthread_mutex_unlock(&queue->lock);
	}
	join(receiver);
}

void bench_pthreads(struct bench *bench)
{
	cpu_set_t allowed = allowed_cpus();
	cpu_set_t first = one_cpu(&allowed, 0);
	struct turns turns = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
		.others_cpu = first,
	};
	struct contention contention = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct queue queue = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.has_item = PTHREAD_COND_INITIALIZER,
		.has_room = PTHREAD_COND_INITIALIZER,
	};

	run_on(&first);
	bench_sample(bench, "pthread.switch_ns", 20000, yields, NULL);
	run_on(&allowed);
	bench_sample(bench, "pthread.spawn_join_ns", 1000, spawns_of_many, NULL);
	bench_sample(bench, "pthread.spawn_join_one_ns", 500, spawns_of_one, NULL);
	run_on(&first);
	bench_sample(bench, "pthread.park_wake_ns", 10000, turns_taken, &turns);
	if (CPU_COUNT(&allowed) < 2) {
		figures_skip(&bench->figures, "pthread.cross_carrier_wake_ns", "one usable CPU");
	} else {
		turns.others_cpu = one_cpu(&allowed, 1);
		bench_sample(bench, "pthread.cross_carrier_wake_ns", 10000, turns_taken, &turns);
	}
	run_on(&first);
	bench_sample(bench, "pthread.channel_ns", 50000, send_all, &queue);
	run_on(&allowed);
	bench_sample(bench, "pthread.mutex_ns", 200000, locks, &contention.lock);
	bench_sample(bench, "pthread.mutex_contended_ns", 2000, contended_locks, &contention);
}
