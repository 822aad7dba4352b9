#include "server/exchange_set.h"

#include <errno.h>
#include <unistd.h>

#include "executors/splitmix64.h"
#include "server/exchange.h"

/* How much later than the deadline the front answers itself. The deadline is also the one of the
 * handler's scope, so a handler that heeds it comes first. */
static const int64_t grace_ns = 500 * INT64_C(1000000);

static struct exchange *from_waiting(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct exchange, waiting, link);
}

int exchange_set_init(struct exchange_set *set, h2o_context_t *context,
                      struct slow_readers *readers, const struct exchange_options *options)
{
	*set = (struct exchange_set){.options = *options, .readers = readers};
	if (getentropy(&set->random, sizeof(set->random)) != 0)
		return -errno;
	h2o_linklist_init_anchor(&set->exchanges);
	h2o_linklist_init_anchor(&set->unanswered);
	int error = disconnect_watch_init(&set->watch, context->loop, options->keep_half_closed,
	                                  exchange_client_gone);

	if (error != 0)
		return error;
	h2o_multithread_register_receiver(context->queue, &set->home, exchange_receive);
	return 0;
}

void exchange_set_finish(struct exchange_set *set)
{
	h2o_multithread_unregister_receiver(set->home.queue, &set->home);
	disconnect_watch_finish(&set->watch);
}

void exchange_set_random(struct exchange_set *set, uint64_t numbers[4])
{
	for (size_t i = 0; i < 4; i++)
		numbers[i] = splitmix64_next(&set->random);
}

/* When the front gives up on the oldest request that waits. */
static int64_t overdue_ns(const struct exchange_set *set)
{
	if (h2o_linklist_is_empty((h2o_linklist_t *)&set->unanswered))
		return INT64_MAX;
	return from_waiting(set->unanswered.next)->request.deadline.ns + grace_ns;
}

int64_t exchange_set_due_ns(const struct exchange_set *set)
{
	int64_t watch_ns = disconnect_watch_due_ns(&set->watch);
	int64_t oldest_ns = overdue_ns(set);

	return watch_ns < oldest_ns ? watch_ns : oldest_ns;
}

void exchange_set_run(struct exchange_set *set, int64_t now_ns)
{
	disconnect_watch_run(&set->watch, now_ns);
	while (overdue_ns(set) <= now_ns)
		exchange_give_up(from_waiting(set->unanswered.next));
}

void exchange_set_cancel(struct exchange_set *set)
{
	set->canceling = true;
	for (h2o_linklist_t *link = set->exchanges.next; link != &set->exchanges; link = link->next)
		cancel_fire(&H2O_STRUCT_FROM_MEMBER(struct exchange, link, link)->cancel,
		            CANCEL_SHUTDOWN);
}

void exchange_set_abandon(struct exchange_set *set)
{
	while (!h2o_linklist_is_empty(&set->unanswered))
		exchange_abandon(from_waiting(set->unanswered.next));
}
