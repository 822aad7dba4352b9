#include "executors/pthread_seat.h"

#include <assert.h>
#include <stddef.h>

#include "executors/task_dump.h"

void pthread_seats_init(struct pthread_seats *seats)
{
	*seats = (struct pthread_seats){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void pthread_seats_finish(struct pthread_seats *seats)
{
	assert(!seats->first);
	pthread_mutex_destroy(&seats->lock);
}

void pthread_seat_open(struct pthread_seat *seat, struct pthread_seats *seats)
{
	*seat = (struct pthread_seat){.lock = PTHREAD_MUTEX_INITIALIZER, .seats = seats};
	pthread_mutex_lock(&seats->lock);
	seat->next = seats->first;
	seat->previous = &seats->first;
	if (seat->next)
		seat->next->previous = &seat->next;
	seats->first = seat;
	pthread_mutex_unlock(&seats->lock);
}

void pthread_seat_close(struct pthread_seat *seat)
{
	assert(!seat->top);
	pthread_mutex_lock(&seat->seats->lock);
	*seat->previous = seat->next;
	if (seat->next)
		seat->next->previous = seat->previous;
	pthread_mutex_unlock(&seat->seats->lock);
	pthread_mutex_destroy(&seat->lock);
}

void pthread_seat_enter(struct pthread_seat *seat, struct seated *seated, struct task *task)
{
	*seated = (struct seated){.task = task, .started_ns = deadline_now_ns()};
	pthread_mutex_lock(&seat->lock);
	seated->outer = seat->top;
	seat->top = seated;
	pthread_mutex_unlock(&seat->lock);
}

void pthread_seat_leave(struct pthread_seat *seat)
{
	pthread_mutex_lock(&seat->lock);
	seat->top = seat->top->outer;
	pthread_mutex_unlock(&seat->lock);
}

void pthread_seat_begin_wait(struct pthread_seat *seat, struct deadline deadline)
{
	int64_t now_ns = deadline_now_ns();

	pthread_mutex_lock(&seat->lock);
	seat->is_waiting = true;
	seat->parked_ns = now_ns;
	seat->until = deadline;
	pthread_mutex_unlock(&seat->lock);
}

void pthread_seat_end_wait(struct pthread_seat *seat)
{
	pthread_mutex_lock(&seat->lock);
	seat->is_waiting = false;
	pthread_mutex_unlock(&seat->lock);
}

/* ------ listing */

static void describe_top_locked(struct task_dump_entry *entry, const struct pthread_seat *seat)
{
	const struct task *task = seat->top->task;

	entry->state = TASK_RUNNING;
	if (!seat->is_waiting)
		return;
	entry->state = TASK_PARKED;
	entry->parked_ns = seat->parked_ns;
	entry->until = seat->until;
	task_dump_add_scopes(entry, task);
	task_dump_add_wait(entry, task);
}

/* It goes on when the one above it has ended. */
static void describe_outer_locked(struct task_dump_entry *entry, const struct seated *seated,
                                  const struct seated *above)
{
	entry->state = TASK_PARKED;
	entry->wait = WAIT_OWN_CHILD;
	entry->object = above->task;
	entry->parked_ns = above->started_ns;
	entry->until = DEADLINE_NEVER;
	task_dump_add_scopes(entry, seated->task);
}

static void list_seat_locked(struct pthread_seat *seat, struct task_dump *dump)
{
	const struct seated *above = NULL;

	for (const struct seated *seated = seat->top; seated && dump->count < dump->capacity;
	     seated = seated->outer) {
		struct task_dump_entry *entry = &dump->entries[dump->count++];

		task_dump_describe(entry, seated->task);
		entry->started_ns = seated->started_ns;
		if (above)
			describe_outer_locked(entry, seated, above);
		else
			describe_top_locked(entry, seat);
		above = seated;
	}
}

void pthread_seats_dump(struct pthread_seats *seats, struct task_dump *dump)
{
	pthread_mutex_lock(&seats->lock);
	for (struct pthread_seat *seat = seats->first; seat && dump->count < dump->capacity;
	     seat = seat->next) {
		pthread_mutex_lock(&seat->lock);
		list_seat_locked(seat, dump);
		pthread_mutex_unlock(&seat->lock);
	}
	pthread_mutex_unlock(&seats->lock);
}
