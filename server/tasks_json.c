#include "server/tasks_json.h"

#include "executors/offload.h"
#include "server/wall_time.h"

/* Printed into one buffer rather than built of jansson's values: there are ten thousand. */

static void append_key(struct text_buffer *out, const char *key)
{
	text_buffer_append(out, "\"");
	text_buffer_append(out, key);
	text_buffer_append(out, "\":");
}

/* Each member ends with a comma; the last one's is taken away. */
static void append_end(struct text_buffer *out, char bracket)
{
	text_buffer_trim(out, ',');
	text_buffer_append_bytes(out, &bracket, 1);
	text_buffer_append(out, ",");
}

static void append_text(struct text_buffer *out, const char *key, const char *text)
{
	append_key(out, key);
	if (text != NULL)
		text_buffer_append_quoted(out, text);
	else
		text_buffer_append(out, "null");
	text_buffer_append(out, ",");
}

static void append_address(struct text_buffer *out, const char *key, const void *address)
{
	append_key(out, key);
	if (address != NULL) {
		text_buffer_append(out, "\"");
		text_buffer_append_hex(out, (uintptr_t)address);
		text_buffer_append(out, "\",");
	} else {
		text_buffer_append(out, "null,");
	}
}

static void append_count(struct text_buffer *out, const char *key, unsigned count)
{
	append_key(out, key);
	text_buffer_append_unsigned(out, count);
	text_buffer_append(out, ",");
}

static void append_ms(struct text_buffer *out, const char *key, int64_t ns)
{
	append_key(out, key);
	text_buffer_append_tenths(out, ns > 0 ? (uint64_t)ns / 100000 : 0);
	text_buffer_append(out, ",");
}

static void append_until(struct text_buffer *out, const char *key, struct deadline deadline,
                         int64_t now_ns)
{
	if (deadline.ns != DEADLINE_NEVER.ns)
		append_ms(out, key, deadline.ns - now_ns);
}

static void append_wait(struct text_buffer *out, const struct task_dump_entry *task, int64_t now_ns)
{
	append_key(out, "wait");
	text_buffer_append(out, "{");
	append_text(out, "for", wait_kind_name(task->wait));
	switch (task->wait) {
	case WAIT_READABLE:
	case WAIT_WRITABLE:
		append_count(out, "fd", task->detail);
		break;
	case WAIT_CALL:
	case WAIT_LOOKUP:
		append_text(out, "host", task->text);
		break;
	case WAIT_OFFLOAD:
		append_text(out, "lane", offload_lane_name((enum offload_lane)task->detail));
		break;
	case WAIT_MUTEX:
	case WAIT_ONCE:
		append_address(out, "owner", task->owner);
		break;
	default:
		break;
	}
	if (task->object != NULL)
		append_address(out, "object", task->object);
	append_ms(out, "ms", now_ns - task->parked_ns);
	append_until(out, "ends_in_ms", task->until, now_ns);
	append_end(out, '}');
}

static void append_scopes(struct text_buffer *out, const struct task_dump_entry *task,
                          int64_t now_ns)
{
	append_key(out, "scopes");
	text_buffer_append(out, "[");
	for (unsigned i = 0; i < task->open_scopes && i < TASK_DUMP_SCOPES; i++) {
		const struct task_dump_scope *scope = &task->scopes[i];

		text_buffer_append(out, "{");
		append_address(out, "id", scope->id);
		append_text(out, "policy", scope_policy_name(scope->policy));
		append_count(out, "running", scope->running);
		append_count(out, "not_started", scope->not_started);
		append_until(out, "deadline_in_ms", scope->deadline, now_ns);
		append_end(out, '}');
	}
	append_end(out, ']');
}

static void append_task(struct text_buffer *out, const struct task_dump_entry *task, int64_t now_ns,
                        struct stack_table *stacks)
{
	unsigned stack = stack_table_add(stacks, task);

	text_buffer_append(out, "{");
	append_address(out, "id", task->id);
	append_address(out, "parent", task->parent);
	append_address(out, "scope", task->scope);
	append_text(out, "name", task->name);
	append_text(out, "state", task_state_name(task->state));
	if (task->carrier != TASK_DUMP_NO_CARRIER)
		append_count(out, "carrier", task->carrier);
	append_ms(out, "age_ms", now_ns - task->started_ns);
	append_until(out, "deadline_in_ms", task->deadline, now_ns);
	if (task->state == TASK_PARKED)
		append_wait(out, task, now_ns);
	if (task->open_scopes > 0)
		append_scopes(out, task, now_ns);
	if (stack != STACK_TABLE_NONE)
		append_count(out, "stack", stack);
	append_end(out, '}');
}

static void append_carrier(struct text_buffer *out, const struct task_dump_carrier *carrier,
                           int64_t now_ns)
{
	text_buffer_append(out, "{");
	append_count(out, "carrier", carrier->number);
	append_text(out, "state", carrier->is_accepting ? "accepting" : "retiring");
	append_count(out, "live", carrier->live);
	append_count(out, "parked", carrier->parked);
	if (carrier->is_silent) {
		append_ms(out, "silent_ms", now_ns - carrier->silent_since_ns);
		append_address(out, "kept_by", carrier->task);
		append_text(out, "kept_by_name", carrier->task_name);
	}
	append_end(out, '}');
}

static void append_stack(struct text_buffer *out, const struct stack_table_entry *stack,
                         struct stack_names *names)
{
	text_buffer_append(out, "[");
	for (unsigned i = 0; i < stack->frames; i++) {
		const struct stack_frame *frame = stack_names_find(names, stack, i);

		text_buffer_append(out, "{");
		append_text(out, "function", frame->function);
		if (frame->file[0] != '\0') {
			append_text(out, "file", frame->file);
			append_count(out, "line", (unsigned)frame->line);
		}
		append_end(out, '}');
	}
	append_end(out, ']');
}

void tasks_json_append(struct text_buffer *out, const struct task_dump *dump, const char *name,
                       struct stack_table *stacks, struct stack_names *names)
{
	/* Ages as of the end: what has started meanwhile is in the list. */
	int64_t now_ns = deadline_now_ns();
	char time[WALL_TIME_BYTES];

	wall_time_print(now_ns, time);
	text_buffer_append(out, "{");
	append_text(out, "executor", name);
	append_text(out, "time", time);
	append_count(out, "listed", dump->count);
	append_count(out, "rest", dump->rest);
	append_count(out, "queued", dump->queued);
	append_key(out, "carriers");
	text_buffer_append(out, "[");
	for (unsigned i = 0; i < dump->carrier_count; i++)
		append_carrier(out, &dump->carriers[i], now_ns);
	append_end(out, ']');
	append_key(out, "tasks");
	text_buffer_append(out, "[");
	for (unsigned i = 0; i < dump->count; i++)
		append_task(out, &dump->entries[i], now_ns, stacks);
	append_end(out, ']');
	append_key(out, "stacks");
	text_buffer_append(out, "[");
	for (unsigned i = 0; i < stacks->count; i++)
		append_stack(out, &stacks->stacks[i], names);
	append_end(out, ']');
	append_end(out, '}');
	text_buffer_trim(out, ',');
}
