#ifndef TESTS_CONTRACT_DUMP_FIXTURE_H
#define TESTS_CONTRACT_DUMP_FIXTURE_H

#include "executors/executor.h"
#include "executors/task_dump.h"

enum { DUMP_PATIENCE_MS = 20 * 1000, DUMP_MAX = 1000 };

/** How many of the entries are parked. */
unsigned count_parked(const struct task_dump *dump);

/** Take pictures until there is one in which @parked tasks are parked; else fail the test. */
void dump_once_parked(struct executor *executor, unsigned parked, struct task_dump *dump);

/** The first entry called @name; none fails the test. */
const struct task_dump_entry *find_entry(const struct task_dump *dump, const char *name);

#endif
