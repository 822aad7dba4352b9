#ifndef SERVER_PINNED_PAGE_H
#define SERVER_PINNED_PAGE_H

#include "handlers/handler.h"
#include "server/executor_set.h"

/*
 * GET /debug/pinned: the last pinned events, newest first.
 *
 *	{"kept":1,"total":1,"events":[{"time":"2025-01-31T12:00:00.123Z","kind":"cpu",
 *	 "duration_ms":52.1,"task":"/cpu","carrier":0,"handed_over":true,"executor":"coroutine",
 *	 "stack":[{"function":"add_range","file":"handlers/cpu.c","line":36}]}]}
 *
 * `time` is when the carrier was first seen kept; `duration_ms` is null while it
 * lasts, and when nobody could take the carrier over; `task` is null when it has
 * no name. `stack` has the innermost function first; `file` and `line` only where
 * there is debug information. It is empty when it could not be read.
 */
struct pinned_page {
	struct handler super;
	const struct executor_set *executors; /* borrowed */
};

/** Its handler may block. Its destroy does nothing. */
void pinned_page_init(struct pinned_page *page, const struct executor_set *executors);

#endif
