#include "server/pinned_page.h"

#include <stdlib.h>
#include <string.h>

#include "server/stack_trace.h"
#include "server/wall_time.h"

enum { EVENTS_MAX = 256 }; /* as many as an executor keeps */

/* What one answer needs beside the answer. */
struct work {
	struct stack_tracer *tracer; /* NULL: there is none, so no stack has names */
	struct stack_snapshot snapshot;
	struct pinned_event events[EVENTS_MAX];
};

/* NULL: no memory, as everywhere below. */
static json_t *frame_json(const struct stack_frame *frame)
{
	json_t *json = json_pack("{s:s%}", "function", frame->function, strlen(frame->function));

	if (frame->file[0] != '\0' &&
	    (json_object_set_new(json, "file", json_string_nocheck(frame->file)) != 0 ||
	     json_object_set_new(json, "line", json_integer(frame->line)) != 0)) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static json_t *stack_json(struct work *work, struct executor *executor, uint64_t number)
{
	struct stack_frame frames[STACK_FRAMES_MAX];
	json_t *list = json_array();
	unsigned count = 0;

	if (work->tracer != NULL && executor_pinned_stack(executor, number, &work->snapshot))
		count = stack_tracer_read(work->tracer, &work->snapshot, frames);
	for (unsigned i = 0; i < count; i++) {
		if (json_array_append_new(list, frame_json(&frames[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *event_json(struct work *work, struct executor *executor,
                          const struct pinned_event *event)
{
	char time[WALL_TIME_BYTES];
	int64_t tenths_ms = event->duration_ns / 100000;
	json_t *duration = tenths_ms == 0 ? json_null() : json_real((double)tenths_ms / 10);

	wall_time_print(event->since.ns, time);
	return json_pack("{s:s, s:s, s:o, s:s?, s:i, s:b, s:s, s:o}", "time", time, "kind",
	                 pinned_kind_name(event->kind), "duration_ms", duration, "task",
	                 event->task_name, "carrier", (int)event->carrier, "handed_over",
	                 event->is_handed_over, "executor", executor_name(executor), "stack",
	                 stack_json(work, executor, event->number));
}

/* Append what @executor keeps, newest first. Returns how many events it has had; -ENOMEM. */
static int64_t append_events(json_t *list, struct work *work, struct executor *executor)
{
	uint64_t next = 0;
	unsigned count = executor_pinned_events(executor, &next, work->events, EVENTS_MAX);

	while (count > 0)
		if (json_array_append_new(list,
		                          event_json(work, executor, &work->events[--count])) != 0)
			return -ENOMEM;
	return (int64_t)next;
}

static json_t *report(const struct executor_set *set, struct work *work)
{
	json_t *list = json_array();
	int64_t total = 0;

	for (size_t i = 0; i < set->count; i++) {
		int64_t events = append_events(list, work, set->executors[i]);

		if (events < 0) {
			json_decref(list);
			return NULL;
		}
		total += events;
	}
	return json_pack("{s:i, s:I, s:o}", "kept", (int)json_array_size(list), "total",
	                 (json_int_t)total, "events", list);
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	const struct executor_set *set = ((struct pinned_page *)handler)->executors;
	struct work *work;
	struct query_error error;

	if (query_read(request->query, NULL, 0, &error) != 0) {
		response_bad_query(response, &error);
		return;
	}
	work = calloc(1, sizeof(*work));
	if (work == NULL)
		return; /* a 500 */
	/* Anew for each answer: libraries may have been loaded since the last. */
	if (stack_tracer_open(&work->tracer) != 0)
		work->tracer = NULL;
	response_json(response, 200, report(set, work));
	stack_tracer_close(work->tracer);
	free(work);
}

static void destroy(struct handler *handler)
{
	(void)handler;
}

void pinned_page_init(struct pinned_page *page, const struct executor_set *executors)
{
	*page = (struct pinned_page){
		.super = {.method = "GET",
	                  .path = "/debug/pinned",
	                  .serve = serve,
	                  .destroy = destroy},
		.executors = executors,
	};
}
