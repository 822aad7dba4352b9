#ifndef SERVER_EXECUTOR_SET_H
#define SERVER_EXECUTOR_SET_H

#include <stddef.h>

#include "executors/executor.h"
#include "server/config.h"

struct metrics_text;

/* The executors that are running: one, or with --compare all of them. Constant after start. */
enum { EXECUTOR_SET_MAX = 8 };

struct executor_set {
	struct executor *executors[EXECUTOR_SET_MAX]; /* owned */
	size_t count;
	struct executor *preferred; /* the one of --executor */
};

/**
 * Start what @config asks for, with @carriers. On failure nothing is left running and *@failed
 * is the name of the executor at fault. Returns 0 or an error of executor_create().
 */
int executor_set_start(struct executor_set *set, const struct config *config, unsigned carriers,
                       const char **failed);

/** The one that the query's `executor` names, else the preferred one. Any thread. */
struct executor *executor_set_pick(const struct executor_set *set, const char *query);

/** See executor_resize(); the first error, after all have been tried. Main thread only. */
int executor_set_resize(struct executor_set *set, unsigned carriers);

/** Print the families of tasks, queues, carriers, threads and stacks. Any thread. */
void executor_set_print(const struct executor_set *set, struct metrics_text *text);

/** What guards the next new stack of a coroutine: "madvise"; "none" without coroutines. Static. */
const char *executor_set_stack_guard(const struct executor_set *set);

/** Waits for all admitted tasks. */
void executor_set_destroy(struct executor_set *set);

#endif
