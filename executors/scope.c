#include "executors/scope.h"

#include <assert.h>
#include <limits.h>

#include "executors/executor_ops.h"

/* Forks admitted at a time. */
#define ADMITTED_TOGETHER 16

/*
 * Who may touch a scope: the parent until its join returns; a child until
 * scope_child_done() has let go of the lock for the last time; a thread that
 * holds the lock of the queue in which the ticket stands. The join returns when
 * no child remains and the ticket is out of the queue, so it outlasts all three.
 */

void scope_open(struct scope *scope, const struct scope_options *options)
{
	struct task *parent = task_current();
	struct deadline deadline = options->deadline.ns ? options->deadline : DEADLINE_NEVER;
	bool is_quorum = options->policy == SCOPE_QUORUM;

	assert(parent && is_quorum == (options->quorum > 0));
	*scope = (struct scope){
		.executor = parent->executor,
		.parent = parent,
		.outer = parent->scopes,
		.context = parent->context,
		.deadline = deadline_earlier(deadline, parent->deadline),
		.max_parallel = options->max_parallel ? options->max_parallel : UINT_MAX,
		.policy = options->policy,
		.wanted = options->policy == SCOPE_FIRST ? 1 : options->quorum,
		.ticket.of_scope = true,
		.queue = parent->executor->ops->queue(parent->executor, parent),
	};
	scope->last = &scope->first;
	scope->finished_last = &scope->finished;
	cancel_init(&scope->cancel, parent->cancel);
	parent->scopes = scope;
}

bool scope_has_startable_locked(const struct scope *scope)
{
	return scope->first && scope->running < scope->max_parallel &&
	       cancel_reason(&scope->cancel) == CANCEL_NONE;
}

struct task *scope_take_locked(struct scope *scope)
{
	struct task *child = scope->first;

	if (!scope_has_startable_locked(scope))
		return NULL;
	scope->first = child->next;
	if (!scope->first)
		scope->last = &scope->first;
	scope->running++;
	task_watch_cancel_locked(child);
	return child;
}

struct task *scope_take(struct scope *scope)
{
	struct task *child;

	pthread_mutex_lock(&scope->cancel.lock);
	child = scope_take_locked(scope);
	pthread_mutex_unlock(&scope->cancel.lock);
	return child;
}

/* Under the lock, so that the parent cannot leave its join before we are done. */
static void wake_parent_locked(struct scope *scope)
{
	if (scope->remaining == 0 || scope->wake_at_each)
		task_wake(scope->parent);
}

/* For scope_next(). The child has returned, or never will run. */
static void hand_out_locked(struct scope *scope, struct task *child)
{
	child->next = NULL;
	*scope->finished_last = child;
	scope->finished_last = &child->next;
}

static void drop_unstarted_locked(struct scope *scope)
{
	struct task *child;

	while ((child = scope->first)) {
		scope->first = child->next;
		child->result = -ECANCELED;
		executor_release(scope->executor);
		if (scope->policy == SCOPE_COLLECT)
			hand_out_locked(scope, child);
		scope->remaining--;
	}
	scope->last = &scope->first;
}

static void cancel_locked(struct scope *scope, enum cancel_reason reason)
{
	cancel_fire_locked(&scope->cancel, reason);
	drop_unstarted_locked(scope);
}

void scope_cancel(struct scope *scope, enum cancel_reason reason)
{
	pthread_mutex_lock(&scope->cancel.lock);
	cancel_locked(scope, reason);
	wake_parent_locked(scope);
	pthread_mutex_unlock(&scope->cancel.lock);
}

/* What the policy makes of a child that has returned. */
static void settle_locked(struct scope *scope, struct task *child)
{
	int result = child->result;

	if (scope->policy == SCOPE_COLLECT) {
		hand_out_locked(scope, child);
		return;
	}
	if (result >= 0) {
		if (scope->wanted == 0 || --scope->wanted > 0)
			return;
	} else {
		if (scope->first_error || cancel_reason(&scope->cancel) != CANCEL_NONE)
			return;
		scope->first_error = result;
		if (scope->policy != SCOPE_FAIL_FAST)
			return;
	}
	scope->is_settled = true;
	cancel_locked(scope, CANCEL_SIBLING_DONE);
}

void scope_child_done(struct scope *scope, struct task *child)
{
	bool offer;

	pthread_mutex_lock(&scope->cancel.lock);
	cancel_watch_remove_locked(&scope->cancel, &child->watch);
	if (scope->policy != SCOPE_ALL)
		settle_locked(scope, child);
	scope->running--;
	offer = !scope->offered && scope_has_startable_locked(scope);
	if (offer) {
		/* This child stays counted until the offer has been made, though it may have been
		 * handed out by then: the scope stays open. */
		scope->offered = true;
		pthread_mutex_unlock(&scope->cancel.lock);
		scope->executor->ops->offer(scope->executor, scope);
		pthread_mutex_lock(&scope->cancel.lock);
	}
	scope->remaining--;
	wake_parent_locked(scope);
	pthread_mutex_unlock(&scope->cancel.lock);
}

static void append_child(struct scope *scope, struct task *child)
{
	bool offer;

	pthread_mutex_lock(&scope->cancel.lock);
	child->next = NULL;
	*scope->last = child;
	scope->last = &child->next;
	scope->remaining++;
	offer = !scope->offered && scope_has_startable_locked(scope);
	scope->offered |= offer;
	pthread_mutex_unlock(&scope->cancel.lock);
	if (offer)
		scope->executor->ops->offer(scope->executor, scope);
}

/* Wait until something about the children may have changed. Returns 0; -ETIMEDOUT @deadline has
 * passed, and not the scope's, at which it is cancelled. */
static int wait_for_children(struct scope *scope, struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_CHILDREN, .object = scope};
	bool is_earlier = deadline.ns < scope->deadline.ns;
	int error;

	if (cancel_reason(&scope->cancel) != CANCEL_NONE)
		return task_park_masked_at(site, deadline);
	error = task_park_at(site, is_earlier ? deadline : scope->deadline);
	if (error == -ETIMEDOUT && is_earlier)
		return error;
	if (error == -ETIMEDOUT)
		scope_cancel(scope, CANCEL_DEADLINE);
	else if (error == -ECANCELED) /* the parent's token may not have reached ours yet */
		scope_cancel(scope, task_cancel_reason());
	return 0;
}

/* Nobody else tells the parent of the time meanwhile, unless @child waits. */
static void run_here(struct scope *scope, struct task *child)
{
	scope->executor->ops->run_here(scope->executor, child);
	if (cancel_reason(&scope->cancel) != CANCEL_NONE ||
	    deadline_remaining_ns(scope->deadline) > 0)
		return;
	pthread_mutex_lock(&scope->cancel.lock);
	if (scope->remaining > 0)
		cancel_locked(scope, CANCEL_DEADLINE);
	pthread_mutex_unlock(&scope->cancel.lock);
}

/* Run an unstarted child on this thread, or wait until some child has returned. False: there
 * was neither. */
static bool help_or_wait(struct scope *scope)
{
	struct task *child;
	bool wait;

	pthread_mutex_lock(&scope->cancel.lock);
	child = scope_take_locked(scope);
	wait = !child && scope->running > 0;
	scope->wake_at_each = wait;
	pthread_mutex_unlock(&scope->cancel.lock);
	if (child)
		run_here(scope, child);
	else if (wait)
		(void)wait_for_children(scope, DEADLINE_NEVER);
	return child || wait;
}

static bool at_its_limit(struct scope *scope)
{
	bool full;

	pthread_mutex_lock(&scope->cancel.lock);
	full = scope->running >= scope->max_parallel;
	pthread_mutex_unlock(&scope->cancel.lock);
	return full;
}

/*
 * The executor is full. 0: @child has been admitted after all; 1: it has been
 * run here and reported; else the error that the fork returns.
 */
static int admit_when_full(struct scope *scope, struct task *child)
{
	struct executor *executor = scope->executor;
	enum when_full policy = executor->options.when_full;

	if (policy == WHEN_FULL_REJECT || !executor->ops->run_here)
		return -EAGAIN;
	scope_settle_forks(scope->parent);
	while ((policy == WHEN_FULL_WAIT || at_its_limit(scope)) && help_or_wait(scope)) {
		if (cancel_reason(&scope->cancel) != CANCEL_NONE)
			return -ECANCELED;
		if (executor_admit(executor) == 0)
			return 0;
	}
	/* Nobody of ours is left to wait for, or the policy says so: run it here. */
	executor_admit_over_limit(executor);
	pthread_mutex_lock(&scope->cancel.lock);
	scope->remaining++;
	scope->running++;
	task_watch_cancel_locked(child);
	pthread_mutex_unlock(&scope->cancel.lock);
	executor->ops->run_here(executor, child);
	return 1;
}

void scope_settle_forks(struct task *parent)
{
	for (struct scope *scope = parent->scopes; scope; scope = scope->outer) {
		executor_count_started(scope->executor, scope->uncounted);
		scope->uncounted = 0;
		if (scope->admitted > 0)
			executor_release_some(scope->executor, scope->admitted);
		scope->admitted = 0;
	}
}

/* As many at a time as have been forked so far, up to 16. */
static int admit_fork(struct scope *scope)
{
	unsigned wanted = 2 * scope->admitted_together;

	if (scope->admitted == 0) {
		wanted = wanted < 1 ? 1 : wanted > ADMITTED_TOGETHER ? ADMITTED_TOGETHER : wanted;
		scope->admitted = executor_admit_some(scope->executor, wanted);
		scope->admitted_together = scope->admitted;
	}
	if (scope->admitted == 0)
		return -EAGAIN;
	scope->admitted--;
	return 0;
}

int scope_fork(struct scope *scope, struct task *child)
{
	struct executor *executor = scope->executor;
	int error;

	assert(task_current() == scope->parent && child->run);
	assert(scope->context == scope->parent->context); /* else it might outlive the binding */
	child->executor = executor;
	child->scope = scope;
	child->cancel = &scope->cancel;
	child->deadline = scope->deadline;
	child->context = scope->context;
	atomic_init(&child->permit, PERMIT_NONE);
	if (cancel_reason(&scope->cancel) != CANCEL_NONE)
		return -ECANCELED;
	error = admit_fork(scope);
	if (error == -EAGAIN)
		error = admit_when_full(scope, child);
	if (error == 0)
		append_child(scope, child);
	if (error > 0)
		error = 0;
	if (error == 0)
		scope->uncounted++;
	else
		executor_count_answer(executor, error);
	return error;
}

static void join_children(struct scope *scope)
{
	bool helps = scope->executor->ops->run_here;

	pthread_mutex_lock(&scope->cancel.lock);
	for (;;) {
		struct task *child = NULL;

		if (cancel_reason(&scope->cancel) != CANCEL_NONE)
			drop_unstarted_locked(scope);
		if (scope->remaining == 0)
			break;
		if (helps)
			child = scope_take_locked(scope);
		/* A child that returns may let another start (max_parallel), here as well. */
		scope->wake_at_each = helps && scope->first;
		pthread_mutex_unlock(&scope->cancel.lock);
		if (child)
			run_here(scope, child);
		else
			(void)wait_for_children(scope, DEADLINE_NEVER);
		pthread_mutex_lock(&scope->cancel.lock);
	}
	pthread_mutex_unlock(&scope->cancel.lock);
}

static struct task *take_finished_locked(struct scope *scope)
{
	struct task *child = scope->finished;

	if (!child)
		return NULL;
	scope->finished = child->next;
	if (!scope->finished)
		scope->finished_last = &scope->finished;
	return child;
}

/* Nobody else may have a thread for a child that has not started. With the lock held. */
static bool must_help_locked(const struct scope *scope)
{
	const struct executor_ops *ops = scope->executor->ops;

	return ops->run_here && scope->running == 0 && !ops->has_free_thread(scope->executor);
}

/* Whether @child is one to be handed out, or there is none left. @to_run: one that is to be run
 * here. */
static bool find_next(struct scope *scope, struct task **child, struct task **to_run)
{
	bool is_over;

	*to_run = NULL;
	pthread_mutex_lock(&scope->cancel.lock);
	if (cancel_reason(&scope->cancel) != CANCEL_NONE)
		drop_unstarted_locked(scope);
	*child = take_finished_locked(scope);
	is_over = *child || scope->remaining == 0;
	if (!is_over && must_help_locked(scope))
		*to_run = scope_take_locked(scope);
	scope->wake_at_each = !is_over;
	pthread_mutex_unlock(&scope->cancel.lock);
	return is_over;
}

int scope_next(struct scope *scope, struct deadline deadline, struct task **out)
{
	struct task *child, *to_run;
	int error = 0;

	assert(task_current() == scope->parent && scope->policy == SCOPE_COLLECT);
	scope_settle_forks(scope->parent);
	while (!find_next(scope, &child, &to_run)) {
		if (to_run)
			run_here(scope, to_run);
		else if (error < 0)
			return error;
		else
			error = wait_for_children(scope, deadline);
	}
	if (!child)
		return 0;
	*out = child;
	return 1;
}

/* Once all have returned. */
static int result_of_join(const struct scope *scope)
{
	if (scope->is_settled)
		return scope->policy == SCOPE_FAIL_FAST ? scope->first_error : 0;
	switch (cancel_reason(&scope->cancel)) {
	case CANCEL_NONE:
		break;
	case CANCEL_DEADLINE:
		return -ETIMEDOUT;
	default:
		return -ECANCELED;
	}
	if (scope->wanted == 0)
		return 0;
	return scope->first_error ? scope->first_error : -ECHILD;
}

/* The newest, as a rule. */
static void remove_from_parent(struct scope *scope)
{
	struct scope **at = &scope->parent->scopes;

	while (*at != scope)
		at = &(*at)->outer;
	*at = scope->outer;
}

int scope_join(struct scope *scope)
{
	assert(task_current() == scope->parent);
	assert(scope->context == scope->parent->context);
	scope_settle_forks(scope->parent);
	join_children(scope);
	if (scope->queue)
		run_queue_remove(scope->queue, &scope->ticket);
	remove_from_parent(scope);
	cancel_finish(&scope->cancel);
	return result_of_join(scope);
}
