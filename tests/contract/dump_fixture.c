#include "tests/contract/dump_fixture.h"

#include <sched.h>
#include <string.h>

#include "tests/with_cmocka.h"

unsigned count_parked(const struct task_dump *dump)
{
	unsigned count = 0;

	for (unsigned i = 0; i < dump->count; i++)
		count += dump->entries[i].state == TASK_PARKED;
	return count;
}

void dump_once_parked(struct executor *executor, unsigned parked, struct task_dump *dump)
{
	struct deadline deadline = deadline_in_ms(DUMP_PATIENCE_MS);

	for (;;) {
		assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, dump), 0);
		if (count_parked(dump) == parked)
			return;
		task_dump_finish(dump);
		assert_true(deadline_remaining_ns(deadline) > 0);
		(void)sched_yield();
	}
}

const struct task_dump_entry *find_entry(const struct task_dump *dump, const char *name)
{
	for (unsigned i = 0; i < dump->count; i++)
		if (dump->entries[i].name && strcmp(dump->entries[i].name, name) == 0)
			return &dump->entries[i];
	fail_msg("no %s in the list", name);
	return NULL;
}
