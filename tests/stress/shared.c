#include "tests/stress/shared.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "executors/channel.h"
#include "executors/condition.h"
#include "executors/executor_ops.h"
#include "executors/offload.h"
#include "tests/stress/happenings.h"
#include "tests/with_cmocka.h"

enum { PERMITS = 5, CAPACITY = 4 };

static struct task_semaphore semaphore;
static atomic_int inside_semaphore;

static struct task_mutex mutex;
static uint64_t entries_seen; /* mutex */
static atomic_ullong entries;

static struct {
	struct task_mutex mutex;
	struct task_condition is_some;
	unsigned long long tokens, made, taken; /* mutex */
} bowl;

struct item {
	const struct executor *from;
	uint64_t number;
};

/* One with room, and one where sender and receiver must meet. */
static struct task_channel channels[2];
static atomic_ullong sent[2], received[2], sent_sum[2], received_sum[2];

static struct offload *offload;

void shared_start(void)
{
	struct offload_options options = {
		.max_blocking = 4,
		.cpus = 2,
		.keep_alive_ns = 1000000, /* so that threads come and go */
	};

	task_semaphore_init(&semaphore, PERMITS);
	task_mutex_init(&mutex);
	task_mutex_init(&bowl.mutex);
	task_condition_init(&bowl.is_some);
	assert_int_equal(task_channel_init(&channels[0], sizeof(struct item), CAPACITY), 0);
	assert_int_equal(task_channel_init(&channels[1], sizeof(struct item), 0), 0);
	assert_int_equal(offload_create(&options, &offload), 0);
}

static void channel_finish(unsigned i)
{
	unsigned long long left = channels[i].count, left_sum = 0;

	for (size_t at = 0; at < channels[i].count; at++) {
		size_t place = (channels[i].first + at) % channels[i].capacity;

		left_sum += ((struct item *)channels[i].ring)[place].number;
	}
	assert_int_equal(sent[i], received[i] + left);
	assert_int_equal(sent_sum[i], received_sum[i] + left_sum);
	task_channel_finish(&channels[i]);
}

void shared_finish(void)
{
	offload_destroy(offload);
	channel_finish(0);
	channel_finish(1);
	assert_int_equal(bowl.made, bowl.taken + bowl.tokens);
	task_condition_finish(&bowl.is_some);
	task_mutex_finish(&bowl.mutex);
	assert_int_equal(entries_seen, entries);
	task_mutex_finish(&mutex);
	assert_int_equal(inside_semaphore, 0);
	assert_int_equal(semaphore.permits, PERMITS);
	task_semaphore_finish(&semaphore);
}

void shared_resize(unsigned cpus)
{
	offload_resize(offload, cpus);
}

void shared_pass_semaphore(uint64_t *state)
{
	if (happen_error(task_semaphore_acquire(&semaphore, draw_deadline(state))) < 0)
		return;
	happen(HAS_PASSED_SEMAPHORE);
	if (atomic_fetch_add(&inside_semaphore, 1) >= PERMITS)
		go_wrong("more tasks inside the semaphore than it has permits");
	if (draw_below(state, 2))
		(void)task_park(draw_deadline(state));
	atomic_fetch_sub(&inside_semaphore, 1);
	task_semaphore_release(&semaphore);
}

/* Held across waits, now and then. */
void shared_pass_mutex(uint64_t *state)
{
	uint64_t seen;

	if (happen_error(task_mutex_lock(&mutex, draw_deadline(state))) < 0)
		return;
	happen(HAS_PASSED_MUTEX);
	seen = entries_seen;
	if (draw_below(state, 4) == 0)
		task_yield();
	if (draw_below(state, 16) == 0)
		(void)task_park(draw_deadline(state));
	entries_seen = seen + 1;
	atomic_fetch_add_explicit(&entries, 1, memory_order_relaxed);
	task_mutex_unlock(&mutex);
}

static void make_token(uint64_t *state)
{
	task_mutex_lock_masked(&bowl.mutex);
	bowl.tokens++;
	bowl.made++;
	if (draw_below(state, 8) == 0)
		task_condition_broadcast(&bowl.is_some);
	else
		task_condition_signal(&bowl.is_some);
	task_mutex_unlock(&bowl.mutex);
}

/* All there are, so that mostly there is none. */
static void take_tokens(struct deadline deadline)
{
	bool has_waited = false;
	int error = happen_error(task_mutex_lock(&bowl.mutex, deadline));

	if (error < 0)
		return;
	while (bowl.tokens == 0 && error == 0) {
		error = happen_error(task_condition_wait(&bowl.is_some, &bowl.mutex, deadline));
		has_waited = true;
	}
	if (bowl.tokens > 0) {
		bowl.taken += bowl.tokens;
		bowl.tokens = 0;
		if (has_waited && error == 0)
			happen(HAS_TOLD_BY_CONDITION);
	}
	task_mutex_unlock(&bowl.mutex);
}

void shared_use_condition(uint64_t *state)
{
	if (draw_below(state, 2))
		make_token(state);
	else
		take_tokens(draw_deadline(state));
}

static void channel_send(uint64_t *state, unsigned i)
{
	struct item item = {task_current()->executor, draw(state)};

	if (happen_error(task_channel_send(&channels[i], &item, draw_deadline(state))) < 0)
		return;
	happen(HAS_SENT);
	atomic_fetch_add_explicit(&sent[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sent_sum[i], item.number, memory_order_relaxed);
}

static void channel_receive(uint64_t *state, unsigned i)
{
	struct item item;

	if (happen_error(task_channel_receive(&channels[i], &item, draw_deadline(state))) < 0)
		return;
	if (item.from != task_current()->executor)
		happen(HAS_HANDED_ACROSS);
	atomic_fetch_add_explicit(&received[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&received_sum[i], item.number, memory_order_relaxed);
}

void shared_use_channel(uint64_t *state)
{
	unsigned i = draw_below(state, 2);

	if (draw_below(state, 2))
		channel_send(state, i);
	else
		channel_receive(state, i);
}

/* On the caller's stack, and so must not be touched any more once the call has returned. */
struct away {
	int64_t ns;
	int result;
};

static int be_away(void *arg)
{
	struct away *away = arg;
	struct timespec left = {.tv_nsec = away->ns};

	(void)nanosleep(&left, NULL);
	return away->result++;
}

void shared_offload(uint64_t *state)
{
	enum offload_lane lane = draw_below(state, 2) ? OFFLOAD_BLOCKING : OFFLOAD_CPU;
	int number = (int)draw_below(state, 1000);
	struct away away = {draw_below(state, 300000), number};
	int result = task_offload(offload, lane, be_away, &away, draw_deadline(state));

	if (result == number && away.result == number + 1)
		happen(HAS_OFFLOADED);
	else if (result < 0 && away.result == number)
		happen(HAS_OFFLOAD_GIVEN_UP);
	else
		go_wrong("the result of an offloaded call");
	(void)happen_error(result);
}
