#include "server/stack_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4096 };

struct stack_name {
	uintptr_t address; /* 0: free */
	struct stack_frame frame;
};

void stack_names_finish(struct stack_names *names)
{
	stack_names_rest(names);
	free(names->names);
	*names = (struct stack_names){0};
}

void stack_names_rest(struct stack_names *names)
{
	stack_tracer_close(names->tracer);
	names->tracer = NULL;
	names->has_no_tracer = false;
}

/* The place of @address, or the free one at which it would stand. */
static struct stack_name *find_slot(struct stack_names *names, uintptr_t address)
{
	size_t at = (size_t)(address * UINT64_C(11400714819323198485) >> 32) % SLOTS;

	while (names->names[at].address != 0 && names->names[at].address != address)
		at = (at + 1) % SLOTS;
	return &names->names[at];
}

static void ask_tracer(struct stack_names *names, uintptr_t address, struct stack_frame *frame)
{
	const void *place = (const void *)address;
	struct stack_frame frames[STACK_FRAMES_MAX] = {0};

	if (names->tracer == NULL && !names->has_no_tracer)
		names->has_no_tracer = stack_tracer_open(&names->tracer) != 0;
	if (names->tracer != NULL)
		(void)stack_tracer_name_calls(names->tracer, &place, 1, frames);
	else
		(void)snprintf(frames[0].function, sizeof(frames[0].function), "0x%lx",
		               (unsigned long)address);
	*frame = frames[0];
}

const struct stack_frame *stack_names_find(struct stack_names *names,
                                           const struct stack_table_entry *stack, unsigned index)
{
	/* A return address is behind the call, which can be another line, or function. */
	uintptr_t address = (uintptr_t)stack->pcs[index] - (index > 0);
	struct stack_name *name;

	if (names->names == NULL)
		names->names = calloc(SLOTS, sizeof(*names->names));
	name = names->names != NULL ? find_slot(names, address) : NULL;
	if (name != NULL && name->address == address)
		return &name->frame;
	if (name == NULL || names->count == SLOTS / 2 || names->has_no_tracer) {
		ask_tracer(names, address, &names->unnamed);
		return &names->unnamed;
	}
	ask_tracer(names, address, &name->frame);
	name->address = address;
	names->count++;
	return &name->frame;
}
