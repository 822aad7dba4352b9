#ifndef SERVER_TASKS_PAGE_H
#define SERVER_TASKS_PAGE_H

#include "handlers/handler.h"
#include "server/executor_set.h"
#include "server/stack_names.h"

/*
 * GET /debug/tasks: who waits for what, where, and since when.
 *
 *	{"executors":[{"executor":"coroutine","time":"2025-01-31T12:00:00.123Z",
 *	 "listed":2,"rest":0,"queued":0,
 *	 "carriers":[{"carrier":0,"state":"accepting","live":2,"parked":2}],
 *	 "tasks":[{"id":"0x7f01","parent":null,"scope":null,"name":"/fanout","state":"parked",
 *	   "carrier":0,"age_ms":12.3,"deadline_in_ms":29987.7,
 *	   "wait":{"for":"children","object":"0x7f02","ms":11.9,"ends_in_ms":29987.7},
 *	   "scopes":[{"id":"0x7f02","policy":"all","running":1,"not_started":0,
 *	     "deadline_in_ms":29987.7}],"stack":0},
 *	  {"id":"0x7f03","parent":"0x7f01","scope":"0x7f02","name":"fanout call",
 *	   "state":"parked","carrier":0,"age_ms":12.1,"deadline_in_ms":29987.7,
 *	   "wait":{"for":"call","host":"127.0.0.1","ms":11.5,"ends_in_ms":9988.2},"stack":1}],
 *	 "stacks":[[{"function":"coroutine_park","file":"executors/…","line":1}, …], …]}]}
 *
 * At most 10,000 tasks of all executors; `rest` counts those that are not in the list. A member
 * that does not apply is not there. ?format=text is a tree for people.
 */
struct tasks_page {
	struct handler super;
	const struct executor_set *executors; /* borrowed */
	struct stack_names names;             /* of the thread that serves the page */
};

/** Its handler blocks, and serves one request at a time. Its destroy frees what @page owns. */
void tasks_page_init(struct tasks_page *page, const struct executor_set *executors);

#endif
