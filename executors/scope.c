#include "executors/scope.h"

#include <assert.h>
#include <limits.h>

#include "executors/executor_ops.h"

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

	assert(parent);
	*scope = (struct scope){
		.executor = parent->executor,
		.parent = parent,
		.deadline = deadline_earlier(deadline, parent->deadline),
		.max_parallel = options->max_parallel ? options->max_parallel : UINT_MAX,
		.ticket.of_scope = true,
		.queue = parent->executor->ops->queue(parent->executor, parent),
	};
	scope->last = &scope->first;
	cancel_init(&scope->cancel, parent->cancel);
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

static void forget_child_locked(struct scope *scope)
{
	scope->remaining--;
	wake_parent_locked(scope);
}

void scope_child_done(struct scope *scope, struct task *child)
{
	bool offer;

	pthread_mutex_lock(&scope->cancel.lock);
	cancel_watch_remove_locked(&scope->cancel, &child->watch);
	scope->running--;
	offer = !scope->offered && scope_has_startable_locked(scope);
	if (offer) {
		/* This child stays counted until the offer has been made: the scope stays open. */
		scope->offered = true;
		pthread_mutex_unlock(&scope->cancel.lock);
		scope->executor->ops->offer(scope->executor, scope);
		pthread_mutex_lock(&scope->cancel.lock);
	}
	forget_child_locked(scope);
	pthread_mutex_unlock(&scope->cancel.lock);
}

static void drop_unstarted_locked(struct scope *scope)
{
	struct task *child;

	while ((child = scope->first)) {
		scope->first = child->next;
		child->result = -ECANCELED;
		executor_release(scope->executor);
		scope->remaining--;
	}
	scope->last = &scope->first;
}

void scope_cancel(struct scope *scope, enum cancel_reason reason)
{
	pthread_mutex_lock(&scope->cancel.lock);
	cancel_fire_locked(&scope->cancel, reason);
	drop_unstarted_locked(scope);
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

/* Wait until something about the children may have changed. */
static void wait_for_children(struct scope *scope)
{
	int error = 0;

	if (cancel_reason(&scope->cancel) != CANCEL_NONE)
		(void)task_park_masked(DEADLINE_NEVER);
	else
		error = task_park(scope->deadline);
	if (error == -ETIMEDOUT)
		scope_cancel(scope, CANCEL_DEADLINE);
	else if (error == -ECANCELED) /* the parent's token may not have reached ours yet */
		scope_cancel(scope, task_cancel_reason());
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
		scope->executor->ops->run_here(scope->executor, child);
	else if (wait)
		wait_for_children(scope);
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

int scope_fork(struct scope *scope, struct task *child)
{
	struct executor *executor = scope->executor;
	int error;

	assert(task_current() == scope->parent && child->run);
	child->executor = executor;
	child->scope = scope;
	child->cancel = &scope->cancel;
	child->deadline = scope->deadline;
	atomic_init(&child->permit, PERMIT_NONE);
	if (cancel_reason(&scope->cancel) != CANCEL_NONE)
		return -ECANCELED;
	error = executor_admit(executor);
	if (error == -EAGAIN)
		error = admit_when_full(scope, child);
	if (error == 0)
		append_child(scope, child);
	if (error > 0)
		error = 0;
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
			scope->executor->ops->run_here(scope->executor, child);
		else
			wait_for_children(scope);
		pthread_mutex_lock(&scope->cancel.lock);
	}
	pthread_mutex_unlock(&scope->cancel.lock);
}

int scope_join(struct scope *scope)
{
	enum cancel_reason reason;

	assert(task_current() == scope->parent);
	join_children(scope);
	if (scope->queue)
		run_queue_remove(scope->queue, &scope->ticket);
	reason = cancel_reason(&scope->cancel);
	cancel_finish(&scope->cancel);
	switch (reason) {
	case CANCEL_NONE:
		return 0;
	case CANCEL_DEADLINE:
		return -ETIMEDOUT;
	default:
		return -ECANCELED;
	}
}
