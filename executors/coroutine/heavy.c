#include "executors/coroutine/heavy.h"

#include "executors/coroutine/executor.h"
#include "executors/coroutine/turn.h"

/* How long a task of a heavy class waits for room beside its carrier while others are ready. */
#define HEAVY_WAIT_NS INT64_C(50000000)

void heavy_push(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	if (!carrier->heavy)
		carrier->heavy_since_ns = deadline_now_ns();
	coroutine->next = NULL;
	*carrier->heavy_last = coroutine;
	carrier->heavy_last = &coroutine->next;
}

static struct coroutine *heavy_pop(struct coroutine_carrier *carrier)
{
	struct coroutine *coroutine = carrier->heavy;

	carrier->heavy = coroutine->next;
	if (!carrier->heavy)
		carrier->heavy_last = &carrier->heavy;
	return coroutine;
}

static void heavy_put_back(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	coroutine->next = carrier->heavy;
	carrier->heavy = coroutine;
	if (!coroutine->next)
		carrier->heavy_last = &coroutine->next;
}

void heavy_serve(struct coroutine_carrier *carrier, bool is_idle)
{
	int64_t now_ns = deadline_now_ns();

	while (carrier->heavy) {
		/* Out of the list first: it may be back in the inbox before this returns. */
		struct coroutine *coroutine = heavy_pop(carrier);

		if (coroutine_executor_set_beside(carrier->executor, coroutine))
			continue;
		if (!is_idle && now_ns - carrier->heavy_since_ns < HEAVY_WAIT_NS) {
			heavy_put_back(carrier, coroutine);
			return;
		}
		carrier->heavy_since_ns = now_ns;
		turn_push(carrier, coroutine);
		return;
	}
}
