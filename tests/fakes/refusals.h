#ifndef TESTS_FAKES_REFUSALS_H
#define TESTS_FAKES_REFUSALS_H

#include <stdbool.h>

/*
 * A system that refuses: memory, threads, mappings or file descriptors, at the
 * k-th time that our code asks. For loops over k, until nothing was refused:
 *
 *	for (unsigned k = 1; refuse(REFUSE_ALL, k), attempt(), refusals_end() > 0; k++)
 *
 * It stands between our code and libc by the linker's --wrap, and not by symbols
 * of the same name, since the sanitizers have theirs there. Libraries that are not
 * linked statically are not refused anything.
 */
enum refusal_kind {
	REFUSE_MEMORY = 1,
	REFUSE_THREADS = 2,
	REFUSE_MAPPINGS = 4,
	REFUSE_FDS = 8,
	REFUSE_ALL = 15,
};

/** From now on refuse the @first of the calls of @kinds, counted from 1, and no more. Any thread's
 * calls count. */
void refuse(unsigned kinds, unsigned first);

/** The same, and all that come after it. */
void refuse_from(unsigned kinds, unsigned first);

/** Refuse nothing any more. Returns how many calls were refused. */
unsigned refusals_end(void);

#endif
