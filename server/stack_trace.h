#ifndef SERVER_STACK_TRACE_H
#define SERVER_STACK_TRACE_H

#include <stdbool.h>

#include "executors/stack_snapshot.h"

/*
 * Makes names of what a stack held: which function, in which file and line, with
 * elfutils' libdw, from the unwind tables and the debug information of this program
 * and its libraries, as far as there is any.
 *
 * One thread at a time. Opening reads /proc/self/maps; the files are read when they are
 * first needed, and held until the close.
 */
struct stack_tracer;

enum { STACK_FRAMES_MAX = 24, STACK_FUNCTION_BYTES = 80 };

struct stack_frame {
	/* Shortened if need be; "libc.so.6+0x1f2e3" if it has no name. */
	char function[STACK_FUNCTION_BYTES];
	char file[80]; /* the end of its path; "" if not known */
	int line;      /* 0: not known */
	bool is_own;   /* of this program's own file, not of a library */
};

/** Returns 0, -ENOMEM, or -ENODATA: /proc tells nothing. On success *@out is the caller's. */
int stack_tracer_open(struct stack_tracer **out);

/** NULL is ignored. */
void stack_tracer_close(struct stack_tracer *tracer);

/**
 * The functions on a task's stack, the innermost first, without what the runtime has at its
 * bottom. Blocks while files are read; not from a task of coroutines, whose stack is too small.
 * Returns how many there are in @frames: the outermost are missing where the snapshot or the unwind
 * tables end, or the room.
 */
unsigned stack_tracer_read(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                           struct stack_frame frames[STACK_FRAMES_MAX]);

/** The same of a stack that has been walked: where its innermost function stands, then return
 * addresses, @count in all. */
unsigned stack_tracer_name_calls(struct stack_tracer *tracer, const void *const *pcs,
                                 unsigned count, struct stack_frame frames[STACK_FRAMES_MAX]);

/**
 * The innermost function of this program's own on that stack: who called what blocks. "" if there
 * is none. As stack_tracer_read(), but a tenth of the work, since it reads no debug information.
 */
void stack_tracer_name(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                       char function[STACK_FUNCTION_BYTES]);

#endif
