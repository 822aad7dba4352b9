#include "executors/coroutine/turn.h"

#define TURN_TASKS 61
#define TURN_NS INT64_C(200000)
#define TURN_NS_MIN INT64_C(20000)

/* Tasks run between looks at the clock, since a look costs as much as a switch: one after the
 * first, since all may be long, then ever fewer. */
#define LOOK_EVERY 16
#define LOOK_EVERY_LATER 32 /* TURN_TASKS have run, in next to no time */

/* Tasks taken out of turn, one after the other. */
#define NEWEST_IN_A_ROW 3

void turn_begin(struct coroutine_carrier *carrier)
{
	carrier->turn_began_ns = carrier->now_ns = deadline_now_ns();
	carrier->tasks_run = 0;
	carrier->look_at = 1;
}

static unsigned next_look(unsigned tasks_run)
{
	unsigned step = 3 * tasks_run < LOOK_EVERY ? 3 * tasks_run : LOOK_EVERY;

	if (tasks_run >= TURN_TASKS)
		return tasks_run + LOOK_EVERY_LATER;
	return tasks_run + step < TURN_TASKS ? tasks_run + step : TURN_TASKS;
}

bool turn_look(struct coroutine_carrier *carrier)
{
	unsigned tasks_run = carrier->tasks_run;
	int64_t ran_ns;

	carrier->now_ns = deadline_now_ns();
	ran_ns = carrier->now_ns - carrier->turn_began_ns;
	if (ran_ns >= TURN_NS || (tasks_run >= TURN_TASKS && ran_ns >= TURN_NS_MIN)) {
		carrier->look_at = 0; /* and so at each further question */
		return true;
	}
	carrier->look_at = next_look(tasks_run);
	return false;
}

void turn_push_from_elsewhere(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	struct coroutine *head = atomic_load_explicit(&carrier->inbox, memory_order_relaxed);

	do
		coroutine->next = head;
	while (!atomic_compare_exchange_weak(&carrier->inbox, &head, coroutine));
	(void)coroutine_carrier_wake(carrier);
}

/* All but the newest become ready, oldest first. */
static struct coroutine *inbox_take(struct coroutine_carrier *carrier)
{
	struct coroutine *newest =
		atomic_exchange_explicit(&carrier->inbox, NULL, memory_order_acquire);
	struct coroutine *oldest = NULL;

	for (struct coroutine *each = newest->next, *next; each; each = next) {
		next = each->next;
		each->next = oldest;
		oldest = each;
	}
	while (oldest) {
		struct coroutine *next = oldest->next;

		turn_push(carrier, oldest);
		oldest = next;
	}
	return newest;
}

struct coroutine *turn_take_inbox(struct coroutine_carrier *carrier)
{
	struct coroutine *newest = inbox_take(carrier);

	if (carrier->newest_in_a_row < NEWEST_IN_A_ROW) {
		carrier->newest_in_a_row++;
		return newest;
	}
	turn_push(carrier, newest);
	return NULL;
}

struct task *turn_next_new(struct coroutine_carrier *carrier)
{
	if (carrier->new_next == carrier->new_count)
		return NULL;
	carrier->tasks_run++;
	return carrier->new_tasks[carrier->new_next++];
}
