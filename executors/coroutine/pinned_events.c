#include "executors/coroutine/pinned_events.h"

#include <stddef.h>
#include <string.h>

static uint64_t word_of(uint64_t number, unsigned state)
{
	return number << 2 | state;
}

static struct pinned_stack *stack_of(struct pinned_events *events, uint64_t number)
{
	return &events->stacks[number % PINNED_EVENTS_KEPT];
}

uint64_t pinned_events_add_locked(struct pinned_events *events, const struct pinned_event *event,
                                  const struct coroutine *coroutine)
{
	struct pinned_event *place = &events->kept[events->count % PINNED_EVENTS_KEPT];

	*place = *event;
	events->away[events->count % PINNED_EVENTS_KEPT] = coroutine;
	place->number = events->count++;
	events->by_kind[place->kind]++;
	return place->number;
}

void pinned_events_end(struct pinned_events *events, const struct coroutine *coroutine)
{
	pthread_mutex_lock(&events->lock);
	/* The newest of this coroutine; long gone if many have come since. */
	for (uint64_t i = 1; i <= PINNED_EVENTS_KEPT && i <= events->count; i++) {
		unsigned at = (events->count - i) % PINNED_EVENTS_KEPT;
		struct pinned_event *event = &events->kept[at];

		if (events->away[at] != coroutine)
			continue;
		event->duration_ns = deadline_now_ns() - event->since.ns;
		events->away[at] = NULL;
		break;
	}
	pthread_mutex_unlock(&events->lock);
}

bool pinned_events_want_stack_locked(struct pinned_events *events, uint64_t number,
                                     const struct coroutine *coroutine, uint64_t carrier_word)
{
	struct pinned_stack *stack = stack_of(events, number);
	uint64_t word = atomic_load_explicit(&stack->word, memory_order_acquire);

	/* Taken from a late handler first: it may be about to look at the rest. */
	if (word % 4 == STACK_WRITING || !atomic_compare_exchange_strong_explicit(
						 &stack->word, &word, word_of(number, STACK_NONE),
						 memory_order_acquire, memory_order_relaxed))
		return false;
	stack->coroutine = coroutine;
	stack->carrier_word = carrier_word;
	atomic_store_explicit(&stack->word, word_of(number, STACK_WANTED), memory_order_release);
	return true;
}

struct pinned_stack *pinned_events_begin_stack(struct pinned_events *events, uint64_t number)
{
	struct pinned_stack *stack = stack_of(events, number);
	uint64_t word = word_of(number, STACK_WANTED);

	if (!atomic_compare_exchange_strong_explicit(&stack->word, &word,
	                                             word_of(number, STACK_WRITING),
	                                             memory_order_acquire, memory_order_relaxed))
		return NULL;
	return stack;
}

void pinned_events_end_stack(struct pinned_stack *stack, bool is_written)
{
	uint64_t word = atomic_load_explicit(&stack->word, memory_order_relaxed);

	atomic_store_explicit(&stack->word,
	                      word_of(word >> 2, is_written ? STACK_DONE : STACK_NONE),
	                      memory_order_release);
}

void pinned_events_counts(struct pinned_events *events, uint64_t by_kind[PINNED_KINDS])
{
	pthread_mutex_lock(&events->lock);
	memcpy(by_kind, events->by_kind, sizeof(events->by_kind));
	pthread_mutex_unlock(&events->lock);
}

unsigned pinned_events_read(struct pinned_events *events, uint64_t *next, struct pinned_event *out,
                            unsigned max)
{
	unsigned count = 0;

	pthread_mutex_lock(&events->lock);
	if (*next + PINNED_EVENTS_KEPT < events->count)
		*next = events->count - PINNED_EVENTS_KEPT;
	while (count < max && *next < events->count)
		out[count++] = events->kept[(*next)++ % PINNED_EVENTS_KEPT];
	pthread_mutex_unlock(&events->lock);
	return count;
}

bool pinned_events_read_stack(struct pinned_events *events, uint64_t number,
                              struct stack_snapshot *out)
{
	struct pinned_stack *stack = stack_of(events, number);
	bool is_there;

	pthread_mutex_lock(&events->lock);
	is_there = atomic_load_explicit(&stack->word, memory_order_acquire) ==
	           word_of(number, STACK_DONE);
	if (is_there)
		*out = stack->snapshot;
	pthread_mutex_unlock(&events->lock);
	return is_there;
}
