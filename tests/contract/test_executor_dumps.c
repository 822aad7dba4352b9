#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "executors/channel.h"
#include "executors/condition.h"
#include "executors/io.h"
#include "executors/latch.h"
#include "executors/offload.h"
#include "executors/once.h"
#include "executors/scope.h"
#include "tests/contract/dump_fixture.h"
#include "tests/contract/over_executor.h"

/* What a picture of the tasks says of them, taken by the test's own thread. */

/* ------ one task in each kind of wait, all below one parent, until the root's token fires */

struct all_waits {
	struct task task;
	struct cancel cancel;
	struct countdown over;
	struct scope scope;
	struct task_mutex mutex; /* held by the parent */
	struct task_once once;   /* being done by the parent */
	struct task_semaphore semaphore;
	struct task_mutex inner;
	struct task_condition condition;
	struct latch latch;
	struct task_channel channel; /* of capacity 0 */
	struct offload *offload;
	struct countdown offloaded_may_end;
	int pipe[2];
	struct deadline far;
};

struct waiter {
	struct task task;
	struct all_waits *all;
};

static struct all_waits *all_of(struct task *task)
{
	return ((struct waiter *)task)->all;
}

static int sleeps(struct task *task)
{
	return task_sleep_until(all_of(task)->far);
}

static int parks(struct task *task)
{
	return task_park(all_of(task)->far);
}

static int reads(struct task *task)
{
	struct io io;
	int error = io_open(&io, all_of(task)->pipe[0]);

	if (error < 0)
		return error;
	error = io_wait(&io, EPOLLIN, all_of(task)->far);
	io_close(&io);
	return error;
}

static int acquires(struct task *task)
{
	return task_semaphore_acquire(&all_of(task)->semaphore, all_of(task)->far);
}

static int locks(struct task *task)
{
	return task_mutex_lock(&all_of(task)->mutex, all_of(task)->far);
}

static int does_nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int does_once(struct task *task)
{
	return task_once_run(&all_of(task)->once, does_nothing, NULL, all_of(task)->far);
}

static int awaits_condition(struct task *task)
{
	struct all_waits *all = all_of(task);
	int error = task_mutex_lock(&all->inner, all->far);

	if (error < 0)
		return error;
	error = task_condition_wait(&all->condition, &all->inner, all->far);
	task_mutex_unlock(&all->inner);
	return error;
}

static int awaits_latch(struct task *task)
{
	return latch_wait(&all_of(task)->latch, all_of(task)->far);
}

static int sends(struct task *task)
{
	int item = 1;

	return task_channel_send(&all_of(task)->channel, &item, all_of(task)->far);
}

static int waits_on_its_lane(void *arg)
{
	countdown_wait(&((struct all_waits *)arg)->offloaded_may_end);
	return 0;
}

static int offloads(struct task *task)
{
	struct all_waits *all = all_of(task);

	return task_offload(all->offload, OFFLOAD_BLOCKING, waits_on_its_lane, all, all->far);
}

static const struct {
	const char *name;
	int (*run)(struct task *task);
	enum wait_kind wait;
} kinds[] = {
	{"sleeps", sleeps, WAIT_SLEEP},
	{"parks", parks, WAIT_OTHER},
	{"reads", reads, WAIT_READABLE},
	{"acquires", acquires, WAIT_SEMAPHORE},
	{"locks", locks, WAIT_MUTEX},
	{"does once", does_once, WAIT_ONCE},
	{"awaits condition", awaits_condition, WAIT_CONDITION},
	{"awaits latch", awaits_latch, WAIT_LATCH},
	{"sends", sends, WAIT_SEND},
	{"offloads", offloads, WAIT_OFFLOAD},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int fork_all(void *arg)
{
	struct all_waits *all = arg;
	struct waiter waiters[KINDS] = {0};
	int error = 0;

	scope_open(&all->scope, &(struct scope_options){0});
	for (int i = 0; i < KINDS; i++) {
		waiters[i].task.run = kinds[i].run;
		waiters[i].task.name = kinds[i].name;
		waiters[i].all = all;
		error |= scope_fork(&all->scope, &waiters[i].task);
	}
	return error | scope_join(&all->scope);
}

static int parent_run(struct task *task)
{
	struct all_waits *all = (struct all_waits *)task;
	int error = task_mutex_lock(&all->mutex, DEADLINE_NEVER);

	error |= task_once_run(&all->once, fork_all, all, DEADLINE_NEVER);
	task_mutex_unlock(&all->mutex);
	return error;
}

static void parent_done(struct task *task)
{
	countdown_arrive(&((struct all_waits *)task)->over);
}

static void start_all_waits(struct all_waits *all, struct executor *executor)
{
	*all = (struct all_waits){
		.task = {.run = parent_run,
	                 .done = parent_done,
	                 .cancel = &all->cancel,
	                 .name = "parent"},
		.far = deadline_in_ms(1000 * 1000),
	};
	cancel_init(&all->cancel, NULL);
	countdown_init(&all->over, 1);
	countdown_init(&all->offloaded_may_end, 1);
	task_mutex_init(&all->mutex);
	task_mutex_init(&all->inner);
	task_once_init(&all->once);
	task_semaphore_init(&all->semaphore, 0);
	task_condition_init(&all->condition);
	latch_init(&all->latch, 1);
	assert_int_equal(task_channel_init(&all->channel, sizeof(int), 0), 0);
	assert_int_equal(offload_create(&(struct offload_options){.cpus = 1}, &all->offload), 0);
	assert_int_equal(pipe2(all->pipe, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(executor_submit(executor, &all->task), 0);
}

static void end_all_waits(struct all_waits *all)
{
	cancel_fire(&all->cancel, CANCEL_SHUTDOWN);
	countdown_arrive(&all->offloaded_may_end);
	countdown_wait(&all->over);
	(void)close(all->pipe[1]); /* io_close() has closed the other */
	offload_destroy(all->offload);
	task_channel_finish(&all->channel);
	latch_finish(&all->latch);
	task_condition_finish(&all->condition);
	task_semaphore_finish(&all->semaphore);
	task_once_finish(&all->once);
	task_mutex_finish(&all->inner);
	task_mutex_finish(&all->mutex);
	countdown_finish(&all->offloaded_may_end);
	countdown_finish(&all->over);
	cancel_finish(&all->cancel);
}

/* A picture of all of them, and what it was taken of. */
struct picture {
	struct executor *executor;
	struct all_waits all;
	struct task_dump dump;
};

static void take_picture(struct picture *picture)
{
	picture->executor = start_executor(KINDS + 1);
	start_all_waits(&picture->all, picture->executor);
	dump_once_parked(picture->executor, KINDS + 1, &picture->dump);
	/* Room that the parent had taken for more children is counted until it waits. */
	while (picture->dump.rest > 0) {
		task_dump_finish(&picture->dump);
		dump_once_parked(picture->executor, KINDS + 1, &picture->dump);
	}
}

static void put_picture_away(struct picture *picture)
{
	task_dump_finish(&picture->dump);
	end_all_waits(&picture->all);
	executor_destroy(picture->executor);
}

static void shows_what_each_task_waits_for(void **state)
{
	struct picture picture;

	(void)state;
	take_picture(&picture);
	for (int i = 0; i < KINDS; i++) {
		const struct task_dump_entry *entry = find_entry(&picture.dump, kinds[i].name);

		assert_string_equal(wait_kind_name(entry->wait), wait_kind_name(kinds[i].wait));
		assert_true(entry->parked_ns >= entry->started_ns);
		/* A job that has begun is awaited to its end. */
		if (kinds[i].wait != WAIT_OFFLOAD)
			assert_int_equal(entry->until.ns, picture.all.far.ns);
	}
	assert_ptr_equal(find_entry(&picture.dump, "acquires")->object, &picture.all.semaphore);
	assert_ptr_equal(find_entry(&picture.dump, "awaits condition")->object,
	                 &picture.all.condition);
	assert_ptr_equal(find_entry(&picture.dump, "awaits latch")->object, &picture.all.latch);
	assert_ptr_equal(find_entry(&picture.dump, "sends")->object, &picture.all.channel);
	assert_int_equal(find_entry(&picture.dump, "reads")->detail, picture.all.pipe[0]);
	assert_int_equal(find_entry(&picture.dump, "offloads")->detail, OFFLOAD_BLOCKING);
	put_picture_away(&picture);
}

static void names_the_owner_of_a_mutex(void **state)
{
	struct picture picture;

	(void)state;
	take_picture(&picture);
	assert_ptr_equal(find_entry(&picture.dump, "locks")->object, &picture.all.mutex);
	assert_ptr_equal(find_entry(&picture.dump, "locks")->owner, &picture.all.task);
	assert_ptr_equal(find_entry(&picture.dump, "does once")->owner, &picture.all.task);
	assert_null(find_entry(&picture.dump, "acquires")->owner);
	put_picture_away(&picture);
}

static void children_name_their_parent_and_scope(void **state)
{
	struct picture picture;
	const struct task_dump_entry *parent;

	(void)state;
	take_picture(&picture);
	assert_int_equal(picture.dump.count, KINDS + 1);
	assert_int_equal(picture.dump.rest, 0);
	parent = find_entry(&picture.dump, "parent");
	assert_ptr_equal(parent->id, &picture.all.task);
	assert_null(parent->parent);
	assert_int_equal(parent->open_scopes, 1);
	assert_ptr_equal(parent->scopes[0].id, &picture.all.scope);
	assert_int_equal(parent->scopes[0].policy, SCOPE_ALL);
	for (int i = 0; i < KINDS; i++) {
		const struct task_dump_entry *child = find_entry(&picture.dump, kinds[i].name);

		assert_ptr_equal(child->parent, &picture.all.task);
		assert_ptr_equal(child->scope, &picture.all.scope);
		assert_int_equal(child->open_scopes, 0);
	}
	put_picture_away(&picture);
}

static void lists_as_many_as_asked_and_counts_the_rest(void **state)
{
	struct picture picture;

	(void)state;
	take_picture(&picture);
	task_dump_finish(&picture.dump);
	assert_int_equal(executor_dump_tasks(picture.executor, 3, &picture.dump), 0);
	assert_int_equal(picture.dump.count, 3);
	assert_int_equal(picture.dump.rest, KINDS + 1 - 3);
	put_picture_away(&picture);
}

static void an_executor_without_tasks_has_none_to_show(void **state)
{
	struct executor *executor = start_executor(4);
	bool is_coroutine = strcmp(executor_under_test, "coroutine") == 0;
	struct task_dump dump;

	(void)state;
	assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, &dump), 0);
	assert_int_equal(dump.count, 0);
	assert_int_equal(dump.rest, 0);
	assert_int_equal(dump.carrier_count, is_coroutine ? 4 : 0);
	for (unsigned i = 0; i < dump.carrier_count; i++)
		assert_false(dump.carriers[i].is_silent);
	task_dump_finish(&dump);
	executor_destroy(executor);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_what_each_task_waits_for),
		cmocka_unit_test(names_the_owner_of_a_mutex),
		cmocka_unit_test(children_name_their_parent_and_scope),
		cmocka_unit_test(lists_as_many_as_asked_and_counts_the_rest),
		cmocka_unit_test(an_executor_without_tasks_has_none_to_show),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
