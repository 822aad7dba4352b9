#ifndef CLIENTS_REPLY_MEMORY_H
#define CLIENTS_REPLY_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What several calls may hold together, so that a list of them that are all within
 * their own limits does not take all memory there is. Taken from while replies are
 * read, not once they are there; whoever finds too little goes without.
 */
struct reply_memory {
	atomic_size_t left; /* bytes; relaxed: it guards nothing but itself */
};

static inline void reply_memory_init(struct reply_memory *memory, size_t bytes)
{
	atomic_init(&memory->left, bytes);
}

/** Take @bytes; false: there are not as many left, and none was taken. Any thread. */
static inline bool reply_memory_take(struct reply_memory *memory, size_t bytes)
{
	size_t left = atomic_load_explicit(&memory->left, memory_order_relaxed);

	/* A failed exchange loads what another has left. */
	while (left >= bytes &&
	       !atomic_compare_exchange_weak_explicit(&memory->left, &left, left - bytes,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
	return left >= bytes;
}

/** Give @bytes back that were taken. Any thread. */
static inline void reply_memory_give(struct reply_memory *memory, size_t bytes)
{
	atomic_fetch_add_explicit(&memory->left, bytes, memory_order_relaxed);
}

#endif
