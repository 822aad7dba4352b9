#include "server/tasks_text.h"

#include <string.h>

#include "executors/offload.h"
#include "server/task_tree.h"

enum { DEEPEST = 40, FRAMES_SHOWN = 6 };

struct page {
	struct text_buffer *out;
	const struct task_dump *dump;
	struct task_tree tree;
	const struct stack_table *stacks;
	struct stack_names *names;
	int64_t now_ns;
};

static void append(struct page *page, const char *text)
{
	text_buffer_append(page->out, text);
}

static void append_number(struct page *page, uint64_t number)
{
	text_buffer_append_unsigned(page->out, number);
}

/* "850 ms", "2.9 s" */
static void append_span(struct page *page, int64_t ns)
{
	uint64_t ms = ns > 0 ? (uint64_t)ns / 1000000 : 0;

	if (ms < 1000) {
		append_number(page, ms);
		append(page, " ms");
	} else {
		text_buffer_append_tenths(page->out, ms / 100);
		append(page, " s");
	}
}

static void append_address(struct page *page, const void *address)
{
	text_buffer_append_hex(page->out, (uintptr_t)address);
}

static void append_indent(struct page *page, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		append(page, "  ");
}

static void append_wait(struct page *page, const struct task_dump_entry *task)
{
	append(page, " for ");
	append(page, wait_kind_name(task->wait));
	switch (task->wait) {
	case WAIT_READABLE:
	case WAIT_WRITABLE:
		append(page, " fd ");
		append_number(page, task->detail);
		break;
	case WAIT_CALL:
	case WAIT_LOOKUP:
		append(page, " ");
		append(page, task->text);
		break;
	case WAIT_OFFLOAD:
		append(page, " lane ");
		append(page, offload_lane_name((enum offload_lane)task->detail));
		break;
	case WAIT_MUTEX:
	case WAIT_ONCE:
		append(page, " ");
		append_address(page, task->object);
		append(page, task->owner != NULL ? " of " : " of nobody");
		if (task->owner != NULL)
			append_address(page, task->owner);
		break;
	default:
		break;
	}
	if (task->until.ns != DEADLINE_NEVER.ns) {
		append(page, ", at most ");
		append_span(page, task->until.ns - page->now_ns);
		append(page, " more");
	}
}

/* The wait says what the runtime does there: the frames of interest are those that called it. */
static bool is_of_runtime(const struct stack_frame *frame)
{
	return strstr(frame->file, "executors/") != NULL;
}

static void append_stack(struct page *page, unsigned depth, const struct stack_table_entry *stack)
{
	unsigned first = 0;

	while (first < stack->frames && is_of_runtime(stack_names_find(page->names, stack, first)))
		first++;
	if (first == stack->frames)
		return;
	append_indent(page, depth);
	append(page, "    at ");
	for (unsigned i = first; i < stack->frames && i < first + FRAMES_SHOWN; i++) {
		const struct stack_frame *frame = stack_names_find(page->names, stack, i);

		if (is_of_runtime(frame))
			break;
		append(page, i > first ? " < " : "");
		append(page, frame->function);
		if (i > first || frame->file[0] == '\0')
			continue;
		append(page, " (");
		append(page, frame->file);
		append(page, ":");
		append_number(page, (uint64_t)frame->line);
		append(page, ")");
	}
	append(page, "\n");
}

static void append_scopes(struct page *page, unsigned depth, const struct task_dump_entry *task)
{
	for (unsigned i = 0; i < task->open_scopes && i < TASK_DUMP_SCOPES; i++) {
		const struct task_dump_scope *scope = &task->scopes[i];

		append_indent(page, depth);
		append(page, "    scope (");
		append(page, scope_policy_name(scope->policy));
		append(page, "): ");
		append_number(page, scope->running);
		append(page, " running, ");
		append_number(page, scope->not_started);
		append(page, " not started");
		if (scope->deadline.ns != DEADLINE_NEVER.ns) {
			append(page, ", deadline in ");
			append_span(page, scope->deadline.ns - page->now_ns);
		}
		append(page, "\n");
	}
}

static void append_task(struct page *page, unsigned depth, const struct task_node *node)
{
	const struct task_dump_entry *task = node->task;

	append_indent(page, depth);
	append(page, task->name != NULL ? task->name : "(no name)");
	append(page, " ");
	append_address(page, task->id);
	append(page, ": ");
	append(page, task_state_name(task->state));
	if (task->state == TASK_PARKED) {
		append(page, " ");
		append_span(page, page->now_ns - task->parked_ns);
		append_wait(page, task);
	}
	append(page, "; age ");
	append_span(page, page->now_ns - task->started_ns);
	if (task->carrier != TASK_DUMP_NO_CARRIER) {
		append(page, ", carrier ");
		append_number(page, task->carrier);
	}
	if (node->parent == TASK_TREE_ROOT && task->parent != NULL) {
		append(page, ", child of ");
		append_address(page, task->parent);
	}
	append(page, "\n");
	if (node->stack != STACK_TABLE_NONE)
		append_stack(page, depth, &page->stacks->stacks[node->stack]);
	append_scopes(page, depth, task);
}

static void append_group(struct page *page, unsigned depth, const struct task_group *group)
{
	const struct task_node *nodes = page->tree.nodes;

	append_task(page, depth, &nodes[group->oldest]);
	if (group->count == 1)
		return;
	append_indent(page, depth);
	append(page, "× ");
	append_number(page, group->count - 1);
	append(page, " more like this; the youngest is ");
	append_span(page, page->now_ns - nodes[group->youngest].task->started_ns);
	append(page, " old\n");
}

static void append_below(struct page *page, unsigned depth, unsigned parent)
{
	unsigned count;
	const struct task_group *groups = task_tree_below(&page->tree, parent, &count);

	if (count > 0 && depth > DEEPEST) {
		append_indent(page, depth);
		append(page, "… deeper ones are not shown\n");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		append_group(page, depth, &groups[i]);
		append_below(page, depth + 1, groups[i].oldest);
	}
}

static void append_carrier(struct page *page, const struct task_dump_carrier *carrier)
{
	append(page, "  carrier ");
	append_number(page, carrier->number);
	append(page, ": ");
	append_number(page, carrier->live);
	append(page, " tasks, ");
	append_number(page, carrier->parked);
	append(page, carrier->is_accepting ? " parked" : " parked, retiring");
	if (carrier->is_silent) {
		append(page, "; SILENT for ");
		append_span(page, page->now_ns - carrier->silent_since_ns);
		append(page, ", its tasks are not shown");
	}
	if (carrier->task != NULL) {
		append(page, ": kept by ");
		append(page, carrier->task_name != NULL ? carrier->task_name : "(no name)");
		append(page, " ");
		append_address(page, carrier->task);
	}
	append(page, "\n");
}

int tasks_text_append(struct text_buffer *out, const struct task_dump *dump, const char *name,
                      struct stack_table *stacks, struct stack_names *names)
{
	struct page page = {
		.out = out,
		.dump = dump,
		.stacks = stacks,
		.names = names,
		.now_ns = deadline_now_ns(),
	};
	int error = task_tree_build(&page.tree, dump, stacks);

	if (error < 0)
		return error;
	append(&page, "executor ");
	append(&page, name);
	append(&page, ": ");
	append_number(&page, dump->count);
	append(&page, " tasks listed, ");
	append_number(&page, dump->rest);
	append(&page, " more\n");
	for (unsigned i = 0; i < dump->carrier_count; i++)
		append_carrier(&page, &dump->carriers[i]);
	append(&page, "\n");
	append_below(&page, 0, TASK_TREE_ROOT);
	append(&page, "\n");
	task_tree_finish(&page.tree);
	return 0;
}
