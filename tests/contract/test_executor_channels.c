#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/channel.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Channels between tasks of one executor, and of two. */

enum { ITEMS = 50 };

/* A sender of the numbers from @first on, or a receiver of as many. */
struct party {
	struct task task;
	struct task_channel *channel;
	int first, count;
	int done; /* sent or received */
	int received[ITEMS];
};

static int send_numbers(struct task *task)
{
	struct party *party = (struct party *)task;
	int error = 0;

	for (; party->done < party->count && error == 0; party->done += error == 0) {
		int number = party->first + party->done;

		error = task_channel_send(party->channel, &number, DEADLINE_NEVER);
	}
	return error;
}

static int receive_numbers(struct task *task)
{
	struct party *party = (struct party *)task;
	int error = 0;

	for (; party->done < party->count && error == 0; party->done += error == 0)
		error = task_channel_receive(party->channel, &party->received[party->done],
		                             DEADLINE_NEVER);
	return error;
}

static struct party sender(struct task_channel *channel, int first, int count)
{
	return (struct party){
		.task.run = send_numbers, .channel = channel, .first = first, .count = count};
}

static struct party receiver(struct task_channel *channel, int count)
{
	return (struct party){.task.run = receive_numbers, .channel = channel, .count = count};
}

static bool has_waiters(struct task_channel *channel, struct wait_list *list, unsigned count)
{
	pthread_mutex_lock(&channel->lock);
	for (const struct task_waiter *waiter = list->first; waiter; waiter = waiter->next)
		count--;
	pthread_mutex_unlock(&channel->lock);
	return count == 0;
}

static void await_waiters(struct task_channel *channel, struct wait_list *list, unsigned count)
{
	while (!has_waiters(channel, list, count))
		(void)task_park(deadline_in_ms(1));
}

static int pass_numbers(void *arg)
{
	struct task_channel *channel = arg;
	struct party from = sender(channel, 0, ITEMS), to = receiver(channel, ITEMS);
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error = scope_fork(&scope, &to.task);
	error |= scope_fork(&scope, &from.task);
	error |= scope_join(&scope);
	for (int i = 0; i < ITEMS; i++)
		if (to.received[i] != i)
			error = -EPROTO;
	return error;
}

static void run_with_channel(size_t capacity, int (*fn)(void *arg))
{
	struct executor *executor = start_executor(12);
	struct task_channel channel;

	assert_int_equal(task_channel_init(&channel, sizeof(int), capacity), 0);
	assert_int_equal(run_in_task(executor, fn, &channel), 0);
	executor_destroy(executor);
	task_channel_finish(&channel);
}

static void items_come_out_in_their_order(void **state)
{
	static const size_t capacities[] = {0, 1, 3, ITEMS, 2 * ITEMS};

	(void)state;
	for (int i = 0; i < 5; i++)
		run_with_channel(capacities[i], pass_numbers);
}

static int fill_and_wait(void *arg)
{
	struct task_channel *channel = arg;
	int number = 1, error = 0;

	for (size_t i = 0; i < channel->capacity; i++, number++)
		error |= task_channel_send(channel, &number, deadline_in_ms(-1));
	if (task_channel_send(channel, &number, deadline_in_ms(5)) != -ETIMEDOUT)
		error = -EPROTO;
	for (size_t i = 0; i < channel->capacity; i++) {
		error |= task_channel_receive(channel, &number, deadline_in_ms(-1));
		if (number != (int)i + 1)
			error = -EPROTO;
	}
	number = -1;
	if (task_channel_receive(channel, &number, deadline_in_ms(5)) != -ETIMEDOUT || number != -1)
		error = -EPROTO;
	return error;
}

static void waits_for_room_and_for_items_have_deadlines(void **state)
{
	(void)state;
	run_with_channel(0, fill_and_wait);
	run_with_channel(3, fill_and_wait);
}

static int meet(void *arg)
{
	struct task_channel *channel = arg;
	struct party from = sender(channel, 7, 1);
	struct scope scope;
	int number = 0, error;

	scope_open(&scope, &(struct scope_options){0});
	error = scope_fork(&scope, &from.task);
	await_waiters(channel, &channel->senders, 1);
	if (from.done != 0)
		error = -EPROTO;
	error |= task_channel_receive(channel, &number, DEADLINE_NEVER);
	error |= scope_join(&scope);
	return from.task.result == 0 && number == 7 ? error : -EPROTO;
}

static void without_capacity_a_send_waits_for_the_receiver(void **state)
{
	(void)state;
	run_with_channel(0, meet);
}

/* Ten that wait, one after the other, and are served in that order. */
static int serve_waiting_senders(void *arg)
{
	struct task_channel *channel = arg;
	struct party senders[10];
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < (int)channel->capacity; i++)
		error |= task_channel_send(channel, &i, DEADLINE_NEVER);
	for (int i = 0; i < 10; i++) {
		senders[i] = sender(channel, (int)channel->capacity + i, 1);
		error |= scope_fork(&scope, &senders[i].task);
		await_waiters(channel, &channel->senders, (unsigned)i + 1);
	}
	for (int i = 0; i < (int)channel->capacity + 10; i++) {
		int number;

		error |= task_channel_receive(channel, &number, DEADLINE_NEVER);
		if (number != i)
			error = -EPROTO;
	}
	return scope_join(&scope) | error;
}

static int serve_waiting_receivers(void *arg)
{
	struct task_channel *channel = arg;
	struct party receivers[10];
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < 10; i++) {
		receivers[i] = receiver(channel, 1);
		error |= scope_fork(&scope, &receivers[i].task);
		await_waiters(channel, &channel->receivers, (unsigned)i + 1);
	}
	for (int i = 0; i < 10; i++)
		error |= task_channel_send(channel, &i, DEADLINE_NEVER);
	error |= scope_join(&scope);
	for (int i = 0; i < 10; i++)
		if (receivers[i].received[0] != i)
			error = -EPROTO;
	return error;
}

static void who_has_waited_longest_is_served_first(void **state)
{
	(void)state;
	run_with_channel(0, serve_waiting_senders);
	run_with_channel(3, serve_waiting_senders);
	run_with_channel(0, serve_waiting_receivers);
	run_with_channel(3, serve_waiting_receivers);
}

static int close_and_drain(void *arg)
{
	struct task_channel *channel = arg;
	int number = 0, error = 0;

	for (; number < 3; number++)
		error |= task_channel_send(channel, &number, DEADLINE_NEVER);
	task_channel_close(channel);
	task_channel_close(channel);
	if (task_channel_send(channel, &number, DEADLINE_NEVER) != -EPIPE)
		error = -EPROTO;
	for (int i = 0; i < 3; i++) {
		error |= task_channel_receive(channel, &number, DEADLINE_NEVER);
		if (number != i)
			error = -EPROTO;
	}
	for (int i = 0; i < 2; i++)
		if (task_channel_receive(channel, &number, DEADLINE_NEVER) != -EPIPE || number != 2)
			error = -EPROTO;
	return error;
}

static void what_was_sent_before_the_close_is_still_received(void **state)
{
	(void)state;
	run_with_channel(5, close_and_drain);
}

enum { PARTIES = 10 };

/* As many senders, or receivers, that wait. */
static int fork_waiting(struct scope *scope, struct task_channel *channel, bool are_senders,
                        struct party parties[PARTIES])
{
	int error = 0;

	for (int i = 0; i < PARTIES; i++) {
		parties[i] = are_senders ? sender(channel, i, 1) : receiver(channel, 1);
		error |= scope_fork(scope, &parties[i].task);
	}
	await_waiters(channel, are_senders ? &channel->senders : &channel->receivers, PARTIES);
	return error;
}

static int close_on_waiting(void *arg)
{
	struct task_channel *channel = arg;
	struct party parties[PARTIES];
	struct scope scope;
	int error = 0;

	for (int senders = 0; senders < 2; senders++) {
		scope_open(&scope, &(struct scope_options){0});
		error |= fork_waiting(&scope, channel, senders, parties);
		task_channel_close(channel);
		error |= scope_join(&scope);
		for (int i = 0; i < PARTIES; i++)
			if (parties[i].task.result != -EPIPE || parties[i].done != 0)
				error = -EPROTO;
		channel->is_closed = false; /* for the other half */
	}
	return error;
}

static void closing_ends_the_waits(void **state)
{
	(void)state;
	run_with_channel(0, close_on_waiting);
}

static int cancel_waiting(void *arg)
{
	struct task_channel *channel = arg;
	struct party parties[PARTIES];
	struct scope scope;
	int number = 5, error = 0;

	for (int senders = 0; senders < 2; senders++) {
		scope_open(&scope, &(struct scope_options){0});
		error |= fork_waiting(&scope, channel, senders, parties);
		scope_cancel(&scope, CANCEL_SIBLING_DONE);
		if (scope_join(&scope) != -ECANCELED)
			error = -EPROTO;
		for (int i = 0; i < PARTIES; i++)
			if (parties[i].task.result != -ECANCELED)
				error = -EPROTO;
	}
	/* Nobody of them is left to take an item, or to give one. */
	if (task_channel_send(channel, &number, deadline_in_ms(-1)) != -ETIMEDOUT ||
	    task_channel_receive(channel, &number, deadline_in_ms(-1)) != -ETIMEDOUT)
		error = -EPROTO;
	return error;
}

static void cancelled_waits_leave_nothing_behind(void **state)
{
	(void)state;
	run_with_channel(0, cancel_waiting);
}

/* Many senders and receivers; some give up now and then. Every item sent is received once. */
enum { PER_SENDER = 300 };

struct exchange {
	struct task_channel channel;
	atomic_uint times_received[PARTIES * PER_SENDER];
	atomic_int timeouts;
	struct countdown senders_over, receivers_over;
};

struct trader {
	struct task task;
	struct exchange *exchange;
	int number;
};

/* Sooner or later for each trader, but never for number 0. */
static struct deadline patience(const struct trader *trader)
{
	return trader->number % 3 ? deadline_in_ns(trader->number * 3000LL) : deadline_in_ms(60000);
}

static int send_all(struct task *task)
{
	struct trader *trader = (struct trader *)task;
	struct exchange *exchange = trader->exchange;

	for (int i = 0; i < PER_SENDER;) {
		int number = trader->number * PER_SENDER + i;
		int error = task_channel_send(&exchange->channel, &number, patience(trader));

		if (error < 0 && error != -ETIMEDOUT)
			return error;
		atomic_fetch_add(&exchange->timeouts, error < 0);
		i += error == 0;
	}
	return 0;
}

static int receive_all(struct task *task)
{
	struct trader *trader = (struct trader *)task;
	struct exchange *exchange = trader->exchange;
	int last[PARTIES], error = 0;

	for (int i = 0; i < PARTIES; i++)
		last[i] = -1;
	while (error != -EPIPE) {
		int number;

		error = task_channel_receive(&exchange->channel, &number, patience(trader));
		if (error < 0 && error != -ETIMEDOUT && error != -EPIPE)
			return error;
		if (error < 0)
			continue;
		/* What one receiver gets of one sender comes in order. */
		if (number <= last[number / PER_SENDER])
			return -EPROTO;
		last[number / PER_SENDER] = number;
		atomic_fetch_add(&exchange->times_received[number], 1);
	}
	return 0;
}

static void sender_done(struct task *task)
{
	countdown_arrive(&((struct trader *)task)->exchange->senders_over);
}

static void receiver_done(struct task *task)
{
	countdown_arrive(&((struct trader *)task)->exchange->receivers_over);
}

static void trade(struct executor *senders_on, struct executor *receivers_on, size_t capacity)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	struct trader senders[PARTIES], receivers[PARTIES];

	assert_non_null(exchange);
	assert_int_equal(task_channel_init(&exchange->channel, sizeof(int), capacity), 0);
	countdown_init(&exchange->senders_over, PARTIES);
	countdown_init(&exchange->receivers_over, PARTIES);
	for (int i = 0; i < PARTIES; i++) {
		senders[i] = (struct trader){
			.task = {.run = send_all, .done = sender_done},
			.exchange = exchange,
			.number = i,
		};
		receivers[i] = senders[i];
		receivers[i].task = (struct task){.run = receive_all, .done = receiver_done};
		assert_int_equal(executor_submit(senders_on, &senders[i].task), 0);
		assert_int_equal(executor_submit(receivers_on, &receivers[i].task), 0);
	}
	countdown_wait(&exchange->senders_over);
	task_channel_close(&exchange->channel);
	countdown_wait(&exchange->receivers_over);
	for (int i = 0; i < PARTIES; i++) {
		assert_int_equal(senders[i].task.result, 0);
		assert_int_equal(receivers[i].task.result, 0);
	}
	for (int i = 0; i < PARTIES * PER_SENDER; i++)
		assert_int_equal(exchange->times_received[i], 1);
	countdown_finish(&exchange->senders_over);
	countdown_finish(&exchange->receivers_over);
	task_channel_finish(&exchange->channel);
	free(exchange);
}

static void nothing_is_lost_or_doubled_between_executors(void **state)
{
	(void)state;
	for (const char *const *other = executor_names(); *other; other++) {
		struct executor_options options = options_for(2 * PARTIES);
		struct executor *executor = start_executor(2 * PARTIES), *beside = NULL;

		options.threads = 2 * PARTIES;
		assert_int_equal(executor_create(*other, &options, &beside), 0);
		trade(executor, beside, 0);
		trade(beside, executor, 1);
		trade(executor, beside, 16);
		trade(executor, executor, 4);
		executor_destroy(executor);
		executor_destroy(beside);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_out_in_their_order),
		cmocka_unit_test(waits_for_room_and_for_items_have_deadlines),
		cmocka_unit_test(without_capacity_a_send_waits_for_the_receiver),
		cmocka_unit_test(who_has_waited_longest_is_served_first),
		cmocka_unit_test(what_was_sent_before_the_close_is_still_received),
		cmocka_unit_test(closing_ends_the_waits),
		cmocka_unit_test(cancelled_waits_leave_nothing_behind),
		cmocka_unit_test(nothing_is_lost_or_doubled_between_executors),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
