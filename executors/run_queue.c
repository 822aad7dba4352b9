#include "executors/run_queue.h"

#include <stddef.h>

#include "executors/scope.h"

void run_queue_init(struct run_queue *queue)
{
	*queue = (struct run_queue){.lock = PTHREAD_MUTEX_INITIALIZER};
	queue->head.next = queue->head.previous = &queue->head;
}

void run_queue_finish(struct run_queue *queue)
{
	pthread_mutex_destroy(&queue->lock);
}

static struct scope *ticket_scope(struct ticket *ticket)
{
	return (struct scope *)((char *)ticket - offsetof(struct scope, ticket));
}

static struct task *ticket_task(struct ticket *ticket)
{
	return (struct task *)((char *)ticket - offsetof(struct task, ticket));
}

static void append_locked(struct run_queue *queue, struct ticket *ticket)
{
	ticket->next = &queue->head;
	ticket->previous = queue->head.previous;
	ticket->previous->next = ticket->next->previous = ticket;
	ticket->queued = true;
}

static void unlink_locked(struct ticket *ticket)
{
	ticket->next->previous = ticket->previous;
	ticket->previous->next = ticket->next;
	ticket->queued = false;
}

static void push_locked(struct run_queue *queue, struct ticket *ticket)
{
	append_locked(queue, ticket);
	atomic_fetch_add(&queue->tickets, 1);
}

static void drop_locked(struct run_queue *queue, struct ticket *ticket)
{
	unlink_locked(ticket);
	atomic_fetch_sub(&queue->tickets, 1);
}

void run_queue_push(struct run_queue *queue, struct ticket *ticket)
{
	pthread_mutex_lock(&queue->lock);
	push_locked(queue, ticket);
	pthread_mutex_unlock(&queue->lock);
}

int run_queue_push_root(struct run_queue *queue, struct task *task, unsigned max_roots)
{
	int error = 0;

	pthread_mutex_lock(&queue->lock);
	if (queue->roots >= max_roots) {
		error = -EAGAIN;
	} else {
		queue->roots++;
		push_locked(queue, &task->ticket);
	}
	pthread_mutex_unlock(&queue->lock);
	return error;
}

void run_queue_remove(struct run_queue *queue, struct ticket *ticket)
{
	pthread_mutex_lock(&queue->lock);
	if (ticket->queued)
		drop_locked(queue, ticket);
	pthread_mutex_unlock(&queue->lock);
}

/* The scope cannot close meanwhile: its join takes the ticket out first, under our lock. */
static unsigned take_children_locked(struct run_queue *queue, struct scope *scope,
                                     struct task **tasks, unsigned max, unsigned takers)
{
	unsigned count = 0, unstarted;

	pthread_mutex_lock(&scope->cancel.lock);
	unstarted = scope->remaining - scope->running;
	if (unstarted > 1 && unstarted < max * takers)
		max = (unstarted + takers - 1) / takers;
	while (count < max && (tasks[count] = scope_take_locked(scope)))
		count++;
	if (scope_has_startable_locked(scope)) {
		unlink_locked(&scope->ticket);
		append_locked(queue, &scope->ticket);
	} else {
		drop_locked(queue, &scope->ticket);
		scope->offered = false;
	}
	pthread_mutex_unlock(&scope->cancel.lock);
	return count;
}

/* What @ticket would give next; NULL: nothing at the moment. */
static struct task *ticket_next_locked(struct ticket *ticket)
{
	struct scope *scope = ticket_scope(ticket);
	struct task *next;

	if (!ticket->of_scope)
		return ticket_task(ticket);
	pthread_mutex_lock(&scope->cancel.lock);
	next = scope_has_startable_locked(scope) ? scope->first : NULL;
	pthread_mutex_unlock(&scope->cancel.lock);
	return next;
}

static unsigned ticket_allowed_locked(struct ticket *ticket, const struct run_filter *filter,
                                      unsigned max)
{
	const struct task *next = filter ? ticket_next_locked(ticket) : NULL;

	/* One that gives nothing is looked at by the taker, who drops it. */
	return next ? filter->allows(filter, next, max) : max;
}

bool run_queue_allows(struct run_queue *queue, const struct run_filter *filter)
{
	bool allows = false;

	pthread_mutex_lock(&queue->lock);
	for (struct ticket *ticket = queue->head.next; ticket != &queue->head && !allows;
	     ticket = ticket->next)
		allows = ticket_allowed_locked(ticket, filter, 1) > 0;
	pthread_mutex_unlock(&queue->lock);
	return allows;
}

unsigned run_queue_take(struct run_queue *queue, struct task **tasks, unsigned max, unsigned takers,
                        const struct run_filter *filter)
{
	struct ticket *ticket, *next;
	unsigned count = 0;

	pthread_mutex_lock(&queue->lock);
	for (ticket = queue->head.next; ticket != &queue->head && count == 0; ticket = next) {
		unsigned allowed = ticket_allowed_locked(ticket, filter, max);

		next = ticket->next; /* it may be dropped, or go to the end */
		if (allowed == 0)
			continue;
		if (ticket->of_scope) {
			count = take_children_locked(queue, ticket_scope(ticket), tasks, allowed,
			                             takers);
		} else {
			drop_locked(queue, ticket);
			queue->roots--;
			tasks[count++] = ticket_task(ticket);
		}
	}
	pthread_mutex_unlock(&queue->lock);
	return count;
}
