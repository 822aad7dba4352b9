#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "clients/resolver.h"
#include "tests/contract/over_executor.h"

/* Looking names up, with a look-up that the test holds up and counts. */

enum { MANY = 50 };

static struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned begun; /* lock */
	bool is_held;   /* lock; a look-up waits until it is cleared */
	char last[256]; /* lock */
} lookup = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void look_up(const char *host, struct resolver_answer *answer)
{
	pthread_mutex_lock(&lookup.lock);
	lookup.begun++;
	(void)snprintf(lookup.last, sizeof(lookup.last), "%s", host);
	pthread_cond_broadcast(&lookup.changed);
	while (lookup.is_held && strncmp(host, "quick", 5) != 0)
		pthread_cond_wait(&lookup.changed, &lookup.lock);
	pthread_mutex_unlock(&lookup.lock);

	*answer = (struct resolver_answer){.addresses = "192.0.2.1,[2001:db8::1]"};
	if (strncmp(host, "unknown", 7) == 0)
		*answer = (struct resolver_answer){.reason = "no such name"};
}

static void hold(bool is_held)
{
	pthread_mutex_lock(&lookup.lock);
	lookup.is_held = is_held;
	pthread_cond_broadcast(&lookup.changed);
	pthread_mutex_unlock(&lookup.lock);
}

static void wait_begun(unsigned begun)
{
	pthread_mutex_lock(&lookup.lock);
	while (lookup.begun < begun)
		pthread_cond_wait(&lookup.changed, &lookup.lock);
	pthread_mutex_unlock(&lookup.lock);
}

static struct resolver *start(const struct resolver_options *options)
{
	struct resolver_options with_lookup = *options;
	struct resolver *resolver;

	lookup.begun = 0;
	lookup.is_held = false;
	with_lookup.look_up = look_up;
	with_lookup.offload = lanes_for_tests();
	assert_int_equal(resolver_create(&with_lookup, &resolver), 0);
	return resolver;
}

struct question {
	struct task task;
	struct resolver *resolver;
	const char *name;
	struct deadline deadline;
	struct resolver_answer answer;
	struct countdown *over;
};

static int ask(struct task *task)
{
	struct question *question = (struct question *)task;

	return resolver_look_up(question->resolver, question->name, strlen(question->name),
	                        question->deadline, &question->answer);
}

static void asked(struct task *task)
{
	countdown_arrive(((struct question *)task)->over);
}

static void submit(struct executor *executor, struct question *question)
{
	question->task.run = ask;
	question->task.done = asked;
	assert_int_equal(executor_submit(executor, &question->task), 0);
}

/* In a task; returns what that returned. */
static int look_up_once(struct executor *executor, struct resolver *resolver, const char *name,
                        struct resolver_answer *answer)
{
	struct countdown over;
	struct question question = {
		.resolver = resolver,
		.name = name,
		.deadline = DEADLINE_NEVER,
		.over = &over,
	};

	countdown_init(&over, 1);
	submit(executor, &question);
	countdown_wait(&over);
	countdown_finish(&over);
	*answer = question.answer;
	return question.task.result;
}

static void an_answer_is_kept_whatever_the_case(void **state)
{
	struct executor *executor = start_executor(2);
	struct resolver *resolver = start(&(struct resolver_options){0});
	struct resolver_answer answer;

	(void)state;
	assert_int_equal(look_up_once(executor, resolver, "Host.Example", &answer), 0);
	assert_string_equal(answer.addresses, "192.0.2.1,[2001:db8::1]");
	assert_int_equal(look_up_once(executor, resolver, "host.example", &answer), 0);
	assert_string_equal(answer.addresses, "192.0.2.1,[2001:db8::1]");
	assert_int_equal(lookup.begun, 1);
	assert_string_equal(lookup.last, "host.example");
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void that_there_is_none_is_kept_too(void **state)
{
	struct executor *executor = start_executor(2);
	struct resolver *resolver =
		start(&(struct resolver_options){.keep_failed_ns = INT64_C(60000000000)});
	struct resolver_answer answer;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look_up_once(executor, resolver, "unknown", &answer), -ENOENT);
		assert_string_equal(answer.reason, "no such name");
	}
	assert_int_equal(lookup.begun, 1);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void an_answer_is_asked_for_again_when_it_is_old(void **state)
{
	struct executor *executor = start_executor(2);
	struct resolver *resolver = start(&(struct resolver_options){.keep_ns = 1});
	struct resolver_answer answer;

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(look_up_once(executor, resolver, "host", &answer), 0);
		assert_int_equal(lookup.begun, i);
	}
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void a_name_is_looked_up_once_for_all_who_ask(void **state)
{
	struct executor *executor = start_executor(MANY);
	struct resolver *resolver = start(&(struct resolver_options){0});
	struct question questions[MANY];
	struct countdown over;

	(void)state;
	countdown_init(&over, MANY);
	hold(true);
	for (int i = 0; i < MANY; i++) {
		questions[i] = (struct question){
			.resolver = resolver,
			.name = "host",
			.deadline = DEADLINE_NEVER,
			.over = &over,
		};
		submit(executor, &questions[i]);
	}
	wait_begun(1);
	hold(false);
	countdown_wait(&over);
	countdown_finish(&over);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(questions[i].task.result, 0);
		assert_string_equal(questions[i].answer.addresses, "192.0.2.1,[2001:db8::1]");
	}
	assert_int_equal(lookup.begun, 1);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void a_slow_name_holds_up_no_other(void **state)
{
	struct executor *executor = start_executor(2);
	struct resolver *resolver = start(&(struct resolver_options){0});
	struct resolver_answer answer;
	struct countdown over;
	struct question slow = {
		.resolver = resolver,
		.name = "slow.example",
		.deadline = DEADLINE_NEVER,
		.over = &over,
	};

	(void)state;
	countdown_init(&over, 1);
	hold(true);
	submit(executor, &slow);
	wait_begun(1);
	assert_int_equal(look_up_once(executor, resolver, "quick.example", &answer), 0);
	hold(false);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(slow.task.result, 0);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void whoever_is_cancelled_or_late_leaves_at_once(void **state)
{
	struct executor *executor = start_executor(2);
	struct resolver *resolver = start(&(struct resolver_options){0});
	struct countdown over;
	struct cancel cancel;
	struct question cancelled = {
		.task.cancel = &cancel,
		.resolver = resolver,
		.name = "host",
		.deadline = DEADLINE_NEVER,
		.over = &over,
	};
	struct question late = {
		.resolver = resolver,
		.name = "host",
		.deadline = deadline_in_ms(20),
		.over = &over,
	};
	struct resolver_answer answer;

	(void)state;
	countdown_init(&over, 2);
	cancel_init(&cancel, NULL);
	hold(true);
	submit(executor, &cancelled);
	submit(executor, &late);
	wait_begun(1);
	cancel_fire(&cancel, CANCEL_CLIENT_GONE);
	countdown_wait(&over); /* while the look-up is still held up */
	countdown_finish(&over);
	cancel_finish(&cancel);
	assert_int_equal(cancelled.task.result, -ECANCELED);
	assert_int_equal(late.task.result, -ETIMEDOUT);
	hold(false);
	assert_int_equal(look_up_once(executor, resolver, "host", &answer), 0);
	assert_int_equal(lookup.begun, 1);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void only_so_many_names_are_known(void **state)
{
	static const char *const names[] = {"a", "b", "c", "a"};
	struct executor *executor = start_executor(2);
	struct resolver *resolver = start(&(struct resolver_options){.max_names = 2});
	struct resolver_answer answer;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(look_up_once(executor, resolver, names[i], &answer), 0);
	assert_int_equal(lookup.begun, 4); /* "a" was forgotten for "c" */
	assert_int_equal(look_up_once(executor, resolver, "c", &answer), 0);
	assert_int_equal(lookup.begun, 4);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

static void too_many_look_ups_are_refused(void **state)
{
	struct executor *executor = start_executor(3);
	struct resolver *resolver = start(&(struct resolver_options){.max_names = 1});
	struct countdown over;
	struct question first = {
		.resolver = resolver,
		.name = "host",
		.deadline = DEADLINE_NEVER,
		.over = &over,
	};
	struct resolver_answer answer;

	(void)state;
	countdown_init(&over, 1);
	hold(true);
	submit(executor, &first);
	wait_begun(1);
	assert_int_equal(look_up_once(executor, resolver, "other", &answer), -EAGAIN);
	hold(false);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(first.task.result, 0);
	executor_destroy(executor);
	resolver_destroy(resolver);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(an_answer_is_kept_whatever_the_case),
		cmocka_unit_test(that_there_is_none_is_kept_too),
		cmocka_unit_test(an_answer_is_asked_for_again_when_it_is_old),
		cmocka_unit_test(a_name_is_looked_up_once_for_all_who_ask),
		cmocka_unit_test(a_slow_name_holds_up_no_other),
		cmocka_unit_test(whoever_is_cancelled_or_late_leaves_at_once),
		cmocka_unit_test(only_so_many_names_are_known),
		cmocka_unit_test(too_many_look_ups_are_refused),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
