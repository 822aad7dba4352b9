#ifndef EXECUTORS_COROUTINE_LIVE_LIST_H
#define EXECUTORS_COROUTINE_LIVE_LIST_H

#include "executors/coroutine/coroutine.h"

/*
 * The coroutines of a carrier whose tasks have started and not ended, in that order,
 * with a place up to which somebody has read. On the carrier.
 */
struct live_list {
	struct coroutine *first, **last;
	struct coroutine *cursor; /* moves on when the one that it is at ends; NULL: at the end */
};

static inline void live_list_init(struct live_list *list)
{
	*list = (struct live_list){.last = &list->first};
}

static inline void live_list_add(struct live_list *list, struct coroutine *coroutine)
{
	coroutine->live_next = NULL;
	coroutine->live_previous = list->last;
	*list->last = coroutine;
	list->last = &coroutine->live_next;
}

static inline void live_list_remove(struct live_list *list, struct coroutine *coroutine)
{
	struct coroutine *next = coroutine->live_next;

	if (list->cursor == coroutine)
		list->cursor = next;
	*coroutine->live_previous = next;
	if (next)
		next->live_previous = coroutine->live_previous;
	else
		list->last = coroutine->live_previous;
}

/** Another task begins on @coroutine: it is the youngest now. */
static inline void live_list_move_to_end(struct live_list *list, struct coroutine *coroutine)
{
	if (!coroutine->live_next)
		return;
	live_list_remove(list, coroutine);
	live_list_add(list, coroutine);
}

#endif
