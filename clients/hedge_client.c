#include "clients/hedge_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "clients/http_relay.h"
#include "clients/retry.h"
#include "executors/scope.h"

struct hedge_client {
	struct http_relay relay; /* first */

	pthread_mutex_t lock; /* guards all below; held for moments */
	struct hedge hedge;
	struct hedge_stats stats;
};

/* One of the two attempts. */
struct leg {
	struct task task; /* first */
	struct http_client *inner;
	struct http_call call; /* a copy, with an outcome of its own */
	bool has_run;
};

/* Both of them, on the calling task's stack. */
struct race {
	struct leg legs[2];
	struct scope scope;
	bool is_hedged; /* the second was started */
};

/* ------ the client's state */

static int64_t begin(struct hedge_client *self)
{
	int64_t delay_ns;

	pthread_mutex_lock(&self->lock);
	delay_ns = hedge_begin(&self->hedge);
	pthread_mutex_unlock(&self->lock);
	return delay_ns;
}

/* 0: make a second attempt; else when to ask again. */
static int64_t take(struct hedge_client *self, int64_t took_ns, bool is_first)
{
	int64_t again_ns;

	pthread_mutex_lock(&self->lock);
	again_ns = hedge_take(&self->hedge, took_ns);
	self->stats.refused += is_first && again_ns > 0;
	pthread_mutex_unlock(&self->lock);
	return again_ns;
}

static void learn(struct hedge_client *self, int64_t began_ns)
{
	int64_t now_ns = deadline_now_ns();

	pthread_mutex_lock(&self->lock);
	hedge_learn(&self->hedge, now_ns, now_ns - began_ns);
	pthread_mutex_unlock(&self->lock);
}

static void count_hedge(struct hedge_client *self, bool has_won)
{
	pthread_mutex_lock(&self->lock);
	self->stats.hedges++;
	self->stats.won += has_won;
	pthread_mutex_unlock(&self->lock);
}

/* ------ a race */

static bool is_answered(const struct http_call *call)
{
	return call->failure == HTTP_OK && !retry_is_worth_it(call);
}

static int run_leg(struct task *task)
{
	struct leg *leg = (struct leg *)task;

	leg->has_run = true;
	leg->call.failure = http_call_pass_on(leg->inner, &leg->call);
	return 0;
}

static int start_leg(struct race *race, struct leg *leg, struct http_client *inner,
                     const struct http_call *call)
{
	*leg = (struct leg){
		.task = {.run = run_leg, .name = "hedged call"},
		.inner = inner,
		.call = *call,
	};
	leg->call.attempts = 0;
	return scope_fork(&race->scope, &leg->task);
}

/* Wait for the first attempt until it is to be hedged. False: it is over before. */
static bool await_hedge(struct hedge_client *self, struct race *race, int64_t began_ns,
                        int64_t delay_ns)
{
	struct task *over;
	bool is_first = true;

	while (delay_ns > 0) {
		struct deadline ask_at = {began_ns + delay_ns};

		if (scope_next(&race->scope, ask_at, &over) != -ETIMEDOUT)
			return false;
		delay_ns = take(self, delay_ns, is_first);
		is_first = false;
	}
	return true;
}

static struct leg *find_answer(struct race *race)
{
	struct task *over;

	while (scope_next(&race->scope, DEADLINE_NEVER, &over) > 0) {
		struct leg *leg = (struct leg *)over;

		if (leg->has_run && is_answered(&leg->call))
			return leg;
	}
	return NULL;
}

/* The one that counts; NULL: none was made, since the task was cancelled or there is none for it.
 */
static struct leg *finish_race(struct race *race)
{
	struct leg *first = &race->legs[0], *second = &race->legs[1], *winner = NULL;

	if (race->is_hedged) {
		winner = find_answer(race);
		scope_cancel(&race->scope, CANCEL_SIBLING_DONE);
	}
	(void)scope_join(&race->scope);
	if (winner)
		return winner;
	if (first->has_run)
		return first;
	return second->has_run ? second : NULL;
}

/* Leave the outcome of the winner in @call, and nothing of the other one. */
static enum http_failure conclude(struct race *race, struct leg *winner, struct http_call *call)
{
	struct leg *first = &race->legs[0], *second = &race->legs[1];
	struct deadline until = call->until;
	unsigned attempts = call->attempts + first->call.attempts + second->call.attempts;
	int64_t started_ns = first->call.started_ns;

	http_call_finish(winner == first ? &second->call : &first->call);
	*call = winner->call;
	call->attempts = attempts;
	call->until = until;
	call->started_ns = started_ns;
	return call->failure;
}

static enum http_failure call_alone(struct hedge_client *self, struct http_call *call)
{
	int64_t began_ns = deadline_now_ns();

	call->failure = http_call_pass_on(self->relay.inner, call);
	if (is_answered(call))
		learn(self, began_ns);
	return call->failure;
}

static enum http_failure run_race(struct hedge_client *self, struct http_call *call,
                                  int64_t delay_ns)
{
	int64_t began_ns = call->started_ns;
	struct race race = {0};
	struct leg *first = &race.legs[0], *second = &race.legs[1], *winner;

	scope_open(&race.scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	if (start_leg(&race, first, self->relay.inner, call) == 0 &&
	    await_hedge(self, &race, began_ns, delay_ns))
		race.is_hedged = start_leg(&race, second, self->relay.inner, call) == 0;
	winner = finish_race(&race);
	if (!winner)
		return call_alone(self, call);

	if (is_answered(&winner->call))
		learn(self, began_ns); /* of a first attempt that has lost: that it takes longer */
	if (second->has_run)
		count_hedge(self, winner == second);
	return conclude(&race, winner, call);
}

static enum http_failure hedge_client_call(struct http_client *client, struct http_call *call,
                                           struct deadline deadline)
{
	struct hedge_client *self = (struct hedge_client *)client;
	int64_t delay_ns;

	if (!http_call_is_repeatable(call))
		return http_call_pass_straight(self->relay.inner, call, deadline);
	delay_ns = begin(self);
	return delay_ns < INT64_MAX ? run_race(self, call, delay_ns) : call_alone(self, call);
}

static void hedge_client_destroy(struct http_client *client)
{
	struct hedge_client *self = (struct hedge_client *)client;

	http_relay_finish(&self->relay);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int hedge_client_create(struct http_client *inner, const struct hedge_settings *settings,
                        struct http_client **out)
{
	struct hedge_client *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	http_relay_init(&self->relay, inner, hedge_client_call, hedge_client_destroy);
	hedge_init(&self->hedge, settings);
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->relay.client;
	return 0;
}

void hedge_client_stats(struct http_client *client, struct hedge_stats *out)
{
	struct hedge_client *self = (struct hedge_client *)client;

	pthread_mutex_lock(&self->lock);
	*out = self->stats;
	out->delay_ns = self->hedge.delay_ns;
	pthread_mutex_unlock(&self->lock);
}
