#ifndef EXECUTORS_COROUTINE_STACK_GUARD_H
#define EXECUTORS_COROUTINE_STACK_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "executors/executor.h"

/*
 * The page below a stack that must never be touched. Three ways to find out that it was:
 *
 *	madvise    MADV_GUARD_INSTALL (Linux 6.13): the touch faults. Costs no mapping, so there
 *	           can be as many as there are stacks
 *	mprotect   the touch faults. Splits a mapping in two each time, of which a process has
 *	           vm.max_map_count: used for a share of these only
 *	canary     the page is left as it was mapped, all zeros, and looked at when the stack is
 *	           given back. Finds an overflow late, or not at all if it wrote only zeros there.
 *	           Costs no memory as long as nobody writes
 */

/** The system calls, so that tests can have them fail. Each as in its manual page. */
struct stack_system {
	void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
	int (*madvise)(void *address, size_t bytes, int advice);
	int (*mprotect)(void *address, size_t bytes, int protection);
	ssize_t (*process_madvise)(int pidfd, const struct iovec *ranges, size_t count, int advice,
	                           unsigned flags);
};

extern const struct stack_system stack_system_calls;

enum { STACK_BATCH = 16 };

struct stack_guards {
	const struct stack_system *system; /* constant */
	size_t page_bytes;                 /* constant */
	int pidfd;                         /* constant; our own process; -1: none */
	_Atomic(enum stack_guard) kind;    /* relaxed: what the next stack gets, if it can be had */
	atomic_bool batches;               /* relaxed: process_madvise() does it */
	atomic_long mappings_left;         /* relaxed: of our share of vm.max_map_count */
};

/** Returns 0, or -EOPNOTSUPP: @wanted is madvise, which this kernel has not. */
int stack_guards_init(struct stack_guards *guards, enum stack_guard wanted,
                      const struct stack_system *system);

void stack_guards_finish(struct stack_guards *guards);

/**
 * Guard @pages, at most STACK_BATCH, and say in @kinds how each is guarded. It never fails: what
 * cannot be guarded in the way in force gets the next in the list above. Any thread.
 */
void stack_guards_install(struct stack_guards *guards, char *const pages[], unsigned count,
                          enum stack_guard kinds[]);

/**
 * Have the kernel give memory to @pages, at most STACK_BATCH, in one call instead of a fault each.
 * If it does not, the first touch does. Any thread.
 */
void stack_guards_populate(struct stack_guards *guards, char *const pages[], unsigned count);

/** Whether nothing has been written to a page that is guarded by canary. */
bool stack_guard_canary_is_intact(const void *page, size_t page_bytes);

/** "madvise". Static. */
const char *stack_guard_name(enum stack_guard kind);

#endif
