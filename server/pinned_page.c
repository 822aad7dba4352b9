#include "server/pinned_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS_MAX = 256 }; /* as many as an executor keeps */

/* "2025-01-31T12:00:00.123Z" */
enum { TIME_BYTES = 32 };

static int64_t wall_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void print_time(int64_t moment_ns, char text[TIME_BYTES])
{
	int64_t wall_ns = wall_clock_ns() - (deadline_now_ns() - moment_ns);
	time_t seconds = wall_ns / 1000000000;
	struct tm utc;
	size_t length;

	(void)gmtime_r(&seconds, &utc);
	length = strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
	if (snprintf(text + length, TIME_BYTES - length, ".%03dZ",
	             (int)(wall_ns / 1000000 % 1000)) < 0)
		text[0] = '\0';
}

/* NULL: no memory, as everywhere below. */
static json_t *event_json(const struct pinned_event *event, const char *executor)
{
	char time[TIME_BYTES];
	int64_t tenths_ms = event->duration_ns / 100000;
	json_t *duration = tenths_ms == 0 ? json_null() : json_real((double)tenths_ms / 10);

	print_time(event->since.ns, time);
	return json_pack("{s:s, s:s, s:o, s:s?, s:i, s:b, s:s}", "time", time, "kind",
	                 pinned_kind_name(event->kind), "duration_ms", duration, "task",
	                 event->task_name, "carrier", (int)event->carrier, "handed_over",
	                 event->is_handed_over, "executor", executor);
}

/* Append what @executor keeps, newest first. Returns how many events it has had; -ENOMEM. */
static int64_t append_events(json_t *list, struct executor *executor)
{
	struct pinned_event *events = calloc(EVENTS_MAX, sizeof(*events));
	uint64_t next = 0;
	int error = 0;

	if (events == NULL)
		return -ENOMEM;
	unsigned count = executor_pinned_events(executor, &next, events, EVENTS_MAX);

	while (count > 0 && error == 0)
		error = json_array_append_new(
			list, event_json(&events[--count], executor_name(executor)));
	free(events);
	return error == 0 ? (int64_t)next : -ENOMEM;
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	const struct executor_set *set = ((struct pinned_page *)handler)->executors;
	struct query_error error;
	int64_t total = 0;

	if (query_read(request->query, NULL, 0, &error) != 0) {
		response_bad_query(response, &error);
		return;
	}
	json_t *list = json_array();

	for (size_t i = 0; i < set->count; i++) {
		int64_t events = append_events(list, set->executors[i]);

		if (events < 0) {
			json_decref(list);
			response_json(response, 200, NULL);
			return;
		}
		total += events;
	}
	response_json(response, 200,
	              json_pack("{s:i, s:I, s:o}", "kept", (int)json_array_size(list), "total",
	                        (json_int_t)total, "events", list));
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
