#ifndef EXECUTORS_COROUTINE_PINNED_EVENTS_H
#define EXECUTORS_COROUTINE_PINNED_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/executor.h"
#include "executors/stack_snapshot.h"

/* The last pinned events of one executor, each with the stack of its task. */
struct coroutine;

enum { PINNED_EVENTS_KEPT = 256 };

/*
 * The stack of event n. A thread that sleeps has its stack copied by the monitor;
 * one that computes copies it itself, in a signal handler, which may come at any
 * time, even when the place is another event's. @word says whose the rest is:
 *
 *	word                     the rest belongs to
 *	n << 2 | STACK_NONE      the monitor: the event has no stack
 *	n << 2 | STACK_WANTED    the monitor, which has asked for it. To STACK_WRITING, or to
 *	                         the next event's word, whoever comes first: by compare-and-swap
 *	n << 2 | STACK_WRITING   who copies: a place in this state is not used for another event
 *	n << 2 | STACK_DONE      the readers under the lock, until the monitor uses the place again
 */
enum { STACK_NONE, STACK_WANTED, STACK_WRITING, STACK_DONE };

struct pinned_stack {
	_Atomic uint64_t word; /* from WRITING to DONE release, partner: the readers' acquire */
	/* What the stack must belong to: written by the monitor before WANTED (release). */
	const struct coroutine *coroutine;
	uint64_t carrier_word; /* see carrier.h; never comes back, so neither does the moment */
	struct stack_snapshot snapshot;
};

struct pinned_events {
	pthread_mutex_t lock;
	struct pinned_event kept[PINNED_EVENTS_KEPT];     /* lock; by number */
	const struct coroutine *away[PINNED_EVENTS_KEPT]; /* lock; whose event that is, until it has
	                                                     ended; NULL: it will not */
	struct pinned_stack stacks[PINNED_EVENTS_KEPT];
	uint64_t count;                 /* lock; so far */
	uint64_t by_kind[PINNED_KINDS]; /* lock; so far */
};

/** Add @event, of @coroutine if that has lost its carrier, else NULL. Returns the number that it
 * gets. Under the lock. */
uint64_t pinned_events_add_locked(struct pinned_events *events, const struct pinned_event *event,
                                  const struct coroutine *coroutine);

/** The newest event of @coroutine has ended. */
void pinned_events_end(struct pinned_events *events, const struct coroutine *coroutine);

/**
 * Have the stack of event @number written: by who calls pinned_events_begin_stack(). Under the
 * lock. False: its place is still being written for another event.
 */
bool pinned_events_want_stack_locked(struct pinned_events *events, uint64_t number,
                                     const struct coroutine *coroutine, uint64_t carrier_word);

/**
 * Begin to write that stack, if it is still wanted. Async-signal-safe. On success the place is the
 * caller's until it calls pinned_events_end_stack(). Returns NULL otherwise.
 */
struct pinned_stack *pinned_events_begin_stack(struct pinned_events *events, uint64_t number);

/** The stack has been written, or (@is_written false) the event will have none. */
void pinned_events_end_stack(struct pinned_stack *stack, bool is_written);

/** Copy the counts by kind. Any thread. */
void pinned_events_counts(struct pinned_events *events, uint64_t by_kind[PINNED_KINDS]);

/** See executor_pinned_events(). Any thread. */
unsigned pinned_events_read(struct pinned_events *events, uint64_t *next, struct pinned_event *out,
                            unsigned max);

/** See executor_pinned_stack(). Any thread. */
bool pinned_events_read_stack(struct pinned_events *events, uint64_t number,
                              struct stack_snapshot *out);

#endif
