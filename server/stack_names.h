#ifndef SERVER_STACK_NAMES_H
#define SERVER_STACK_NAMES_H

#include "server/stack_table.h"
#include "server/stack_trace.h"

/*
 * Functions, files and lines of places in the program, kept from one answer to
 * the next: tasks wait at the same places again and again, and reading debug
 * information takes long. One thread at a time.
 */
struct stack_names {
	struct stack_name *names;    /* owned; NULL before the first is asked for */
	unsigned count;              /* at most half of them */
	struct stack_tracer *tracer; /* owned; NULL unless an answer needed a new name */
	bool has_no_tracer;          /* it could not be opened for this answer */
	struct stack_frame unnamed;  /* what is returned without room or tracer */
};

/** Zeroed has none yet. */
void stack_names_finish(struct stack_names *names);

/** The place of frame number @index of @stack; valid until the next call. A function without a name
 * is "library+0x1234" or "0x1234". */
const struct stack_frame *stack_names_find(struct stack_names *names,
                                           const struct stack_table_entry *stack, unsigned index);

/** An answer is complete: release what is needed for new names only. */
void stack_names_rest(struct stack_names *names);

#endif
