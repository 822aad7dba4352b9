#include "server/pinned_log.h"

#include "server/log.h"
#include "server/stack_trace.h"

/* Of one executor at one call; the counters in /metrics are complete. */
enum { LINES_AT_ONCE = 5 };

/* @function is "" if it is not known. */
static void write_event(const struct pinned_event *event, const char *function)
{
	int64_t so_far_ns = deadline_now_ns() - event->since.ns;

	/* Most of them go on when they are logged, and whose end nobody saw have no duration. */
	log_event(LOG_SEVERITY_WARNING, "pinned",
	          "kind=%s task=\"%s\" function=\"%s\" carrier=%u handed_over=%s %s=%lld",
	          pinned_kind_name(event->kind), event->task_name ? event->task_name : "", function,
	          event->carrier, event->is_handed_over ? "yes" : "no",
	          event->duration_ns ? "duration_ms" : "began_ms_ago",
	          (long long)((event->duration_ns ? event->duration_ns : so_far_ns) / 1000000));
}

/* Files are read here that are hardly ever needed: opened for these events, and closed. */
static void write_events(struct executor *executor, const struct pinned_event *events,
                         unsigned count)
{
	struct stack_tracer *tracer = NULL;
	struct stack_snapshot snapshot;

	if (count > 0 && stack_tracer_open(&tracer) != 0)
		tracer = NULL;
	for (unsigned i = 0; i < count; i++) {
		char function[STACK_FUNCTION_BYTES] = "";

		if (tracer != NULL && executor_pinned_stack(executor, events[i].number, &snapshot))
			stack_tracer_name(tracer, &snapshot, function);
		write_event(&events[i], function);
	}
	stack_tracer_close(tracer);
}

static void write_of(struct executor *executor, uint64_t *next)
{
	struct pinned_event events[LINES_AT_ONCE];
	unsigned count = executor_pinned_events(executor, next, events, LINES_AT_ONCE);
	unsigned left_out = 0, more;

	write_events(executor, events, count);
	while ((more = executor_pinned_events(executor, next, events, LINES_AT_ONCE)) > 0)
		left_out += more;
	if (left_out > 0)
		log_event(LOG_SEVERITY_WARNING, "pinned_more", "events=%u", left_out);
}

void pinned_log_write(struct pinned_log *log, const struct executor_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		write_of(set->executors[i], &log->next[i]);
}
