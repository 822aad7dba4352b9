#include <errno.h>
#include <stdlib.h>

#include "executors/executor_ops.h"
#include "executors/pthread_carrier.h"

/*
 * A pthread for each task, at most max_threads at once.
 *
 * A task is reported as ended by its own pthread, whose place is still taken
 * then, though who hears of the end may start the next task at once. Without
 * another place that one waits for a leaving thread, which starts over as a new
 * carrier instead of ending.
 *
 * A leaving thread first joins the one that ended before it. So at most one
 * is left to be joined, and at most one more than max_threads exist.
 */
struct thread_executor {
	struct executor executor;
	struct pthread_seats seats;

	pthread_mutex_t lock;
	pthread_cond_t none_left;   /* @threads has become 0 */
	unsigned threads;           /* lock; started, or about to be, and not ended */
	unsigned leaving;           /* lock; of these, have yet to look for a waiting task */
	unsigned waiting;           /* lock; at most @leaving */
	struct task *first, **last; /* lock; the waiting ones, oldest first, by task->next */
	bool has_ended;             /* lock */
	pthread_t ended;            /* lock; to be joined if @has_ended */
};

static bool hand_to_leaving_locked(struct thread_executor *executor, struct task *task)
{
	if (executor->waiting == executor->leaving)
		return false;
	executor->waiting++;
	task->next = NULL;
	*executor->last = task;
	executor->last = &task->next;
	return true;
}

static struct task *take_waiting_locked(struct thread_executor *executor)
{
	struct task *task = executor->first;

	if (!task)
		return NULL;
	executor->waiting--;
	executor->first = task->next;
	if (!executor->first)
		executor->last = &executor->first;
	return task;
}

static void release_thread_locked(struct thread_executor *executor)
{
	if (--executor->threads == 0)
		pthread_cond_signal(&executor->none_left);
}

static void say_leaving(struct thread_executor *executor)
{
	pthread_mutex_lock(&executor->lock);
	executor->leaving++;
	pthread_mutex_unlock(&executor->lock);
}

/* The task that this thread is to run next; NULL: it is counted as ended and must end. */
static struct task *take_waiting_or_leave(struct thread_executor *executor)
{
	struct task *task;

	pthread_mutex_lock(&executor->lock);
	while (!(task = take_waiting_locked(executor)) && executor->has_ended) {
		pthread_t ended = executor->ended;

		executor->has_ended = false;
		pthread_mutex_unlock(&executor->lock);
		(void)pthread_join(ended, NULL);
		pthread_mutex_lock(&executor->lock);
	}
	executor->leaving--;
	if (!task) {
		executor->has_ended = true;
		executor->ended = pthread_self();
		release_thread_locked(executor);
	}
	pthread_mutex_unlock(&executor->lock);
	return task;
}

static void *task_thread_main(void *arg)
{
	struct task *task = arg;
	struct thread_executor *executor = (struct thread_executor *)task->executor;

	(void)pthread_setname_np(pthread_self(), "fanoutd-task");
	do {
		struct pthread_carrier carrier;
		int result;

		pthread_carrier_init(&carrier, &executor->seats);
		result = pthread_carrier_run(&carrier, task);
		say_leaving(executor);
		task_end(task, result);
		pthread_carrier_finish(&carrier);
		task = take_waiting_or_leave(executor);
	} while (task);
	return NULL;
}

static int start_thread(struct thread_executor *executor, struct task *task)
{
	pthread_t id; /* the thread itself says it when it ends */
	int error = pthread_carrier_start_thread(&id, task_thread_main, task);

	if (error == 0)
		return 0;
	pthread_mutex_lock(&executor->lock);
	release_thread_locked(executor);
	pthread_mutex_unlock(&executor->lock);
	return -EAGAIN;
}

static int thread_submit(struct executor *base, struct task *task)
{
	struct thread_executor *executor = (struct thread_executor *)base;
	bool is_new, is_handed;

	pthread_mutex_lock(&executor->lock);
	is_new = executor->threads < base->options.max_threads;
	executor->threads += is_new;
	is_handed = !is_new && hand_to_leaving_locked(executor, task);
	pthread_mutex_unlock(&executor->lock);
	if (is_new)
		return start_thread(executor, task);
	return is_handed ? 0 : -EAGAIN;
}

static struct run_queue *thread_queue(struct executor *base, struct task *parent)
{
	(void)base;
	(void)parent;
	return NULL;
}

static struct task *take_or_end_offer(struct scope *scope)
{
	struct task *child;

	pthread_mutex_lock(&scope->cancel.lock);
	child = scope_take_locked(scope);
	scope->offered = child;
	pthread_mutex_unlock(&scope->cancel.lock);
	return child;
}

static void thread_offer(struct executor *base, struct scope *scope)
{
	struct task *child;

	while ((child = take_or_end_offer(scope))) {
		int error = thread_submit(base, child);

		if (error < 0)
			task_end(child, error);
	}
}

static int thread_resize(struct executor *base, unsigned carriers)
{
	(void)base;
	(void)carriers;
	return 0;
}

static void thread_stats(struct executor *base, struct executor_stats *out)
{
	struct thread_executor *executor = (struct thread_executor *)base;
	unsigned started;

	pthread_mutex_lock(&executor->lock);
	out->threads = executor->threads;
	started = executor->threads - executor->leaving;
	pthread_mutex_unlock(&executor->lock);
	out->running = started > out->parked ? started - out->parked : 0;
}

static int thread_dump_tasks(struct executor *base, struct task_dump *dump)
{
	pthread_seats_dump(&((struct thread_executor *)base)->seats, dump);
	return 0;
}

static void thread_destroy(struct executor *base)
{
	struct thread_executor *executor = (struct thread_executor *)base;

	pthread_mutex_lock(&executor->lock);
	while (executor->threads > 0)
		pthread_cond_wait(&executor->none_left, &executor->lock);
	pthread_mutex_unlock(&executor->lock);
	if (executor->has_ended)
		(void)pthread_join(executor->ended, NULL);
	pthread_seats_finish(&executor->seats);
	pthread_cond_destroy(&executor->none_left);
	pthread_mutex_destroy(&executor->lock);
	free(executor);
}

static int thread_create(const struct executor_options *options, struct executor **out)
{
	struct thread_executor *executor;

	if (options->max_threads == 0)
		return -EINVAL;
	executor = calloc(1, sizeof(*executor));
	if (!executor)
		return -ENOMEM;
	executor_init(&executor->executor, &thread_executor_ops, options);
	pthread_seats_init(&executor->seats);
	executor->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	executor->none_left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	executor->last = &executor->first;
	*out = &executor->executor;
	return 0;
}

const struct executor_ops thread_executor_ops = {
	.name = "thread",
	.task_bytes =
		36864, /* measured: stacks in user and kernel space, and what both keep of it */
	.create = thread_create,
	.submit = thread_submit,
	.queue = thread_queue,
	.offer = thread_offer,
	.park = pthread_carrier_park,
	.unpark = pthread_carrier_unpark,
	.yield = pthread_carrier_yield,
	.carrier = pthread_carrier_of,
	.resize = thread_resize,
	.stats = thread_stats,
	.dump_tasks = thread_dump_tasks,
	.destroy = thread_destroy,
};
