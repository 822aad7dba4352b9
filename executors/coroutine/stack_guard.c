#include "executors/coroutine/stack_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "executors/text_file.h"

/* Linux 6.13: a guard without a mapping of its own. include/uapi/asm-generic/mman-common.h */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* See Documentation/admin-guide/sysctl/vm.rst; the default if it cannot be read. */
#define MAX_MAP_COUNT_FILE "/proc/sys/vm/max_map_count"
#define MAX_MAP_COUNT_DEFAULT 65530

/* The rest is for the heap, the libraries and other threads' stacks. */
#define MAPPINGS_SHARE_PERCENT 40

/* The guard itself, and what it splits off. */
#define MAPPINGS_EACH 2

const struct stack_system stack_system_calls = {
	.mmap = mmap,
	.madvise = madvise,
	.mprotect = mprotect,
	.process_madvise = process_madvise,
};

static long max_map_count(void)
{
	char text[32];
	ssize_t length = text_file_read(AT_FDCWD, MAX_MAP_COUNT_FILE, text, sizeof(text));
	long count = length > 0 ? strtol(text, NULL, 10) : 0;

	return count > 0 ? count : MAX_MAP_COUNT_DEFAULT;
}

static bool has_guard_install(const struct stack_guards *guards)
{
	void *page = guards->system->mmap(NULL, guards->page_bytes, PROT_READ | PROT_WRITE,
	                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool has;

	if (page == MAP_FAILED)
		return false;
	has = guards->system->madvise(page, guards->page_bytes, MADV_GUARD_INSTALL) == 0;
	(void)munmap(page, guards->page_bytes);
	return has;
}

int stack_guards_init(struct stack_guards *guards, enum stack_guard wanted,
                      const struct stack_system *system)
{
	enum stack_guard kind = wanted;
	bool madvise_works;

	*guards = (struct stack_guards){
		.system = system,
		.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
		.pidfd = -1,
		.mappings_left = max_map_count() / 100 * MAPPINGS_SHARE_PERCENT,
	};
	madvise_works = has_guard_install(guards);
	if (wanted == STACK_GUARD_MADVISE && !madvise_works)
		return -EOPNOTSUPP;
	if (wanted == STACK_GUARD_AUTO)
		kind = madvise_works ? STACK_GUARD_MADVISE : STACK_GUARD_MPROTECT;
	/* The kernel that has this advice also takes it, and every other, for many ranges at once
	 * from the process itself. */
	if (madvise_works)
		guards->pidfd = pidfd_open(getpid(), 0);
	atomic_init(&guards->batches, guards->pidfd >= 0);
	atomic_init(&guards->kind, kind);
	return 0;
}

void stack_guards_finish(struct stack_guards *guards)
{
	if (guards->pidfd >= 0)
		(void)close(guards->pidfd);
}

/* How many of @pages, from the first, have been advised. */
static unsigned advise_batch(struct stack_guards *guards, char *const pages[], unsigned count,
                             int advice)
{
	struct iovec ranges[STACK_BATCH];
	ssize_t bytes;

	if (!atomic_load_explicit(&guards->batches, memory_order_relaxed))
		return 0;
	for (unsigned i = 0; i < count; i++)
		ranges[i] = (struct iovec){pages[i], guards->page_bytes};
	bytes = guards->system->process_madvise(guards->pidfd, ranges, count, advice, 0);
	if (bytes >= 0)
		return (unsigned)((size_t)bytes / guards->page_bytes);
	if (errno == EPERM ||
	    errno == ENOSYS) /* a seccomp filter, which will not change its mind */
		atomic_store_explicit(&guards->batches, false, memory_order_relaxed);
	return 0;
}

static bool take_mappings(struct stack_guards *guards)
{
	return atomic_fetch_sub_explicit(&guards->mappings_left, MAPPINGS_EACH,
	                                 memory_order_relaxed) >= MAPPINGS_EACH;
}

static enum stack_guard guard_one(struct stack_guards *guards, void *page)
{
	const struct stack_system *system = guards->system;
	enum stack_guard kind = atomic_load_explicit(&guards->kind, memory_order_relaxed);

	if (kind == STACK_GUARD_CANARY)
		return STACK_GUARD_CANARY;
	if (kind == STACK_GUARD_MADVISE &&
	    system->madvise(page, guards->page_bytes, MADV_GUARD_INSTALL) == 0)
		return STACK_GUARD_MADVISE;
	if (!take_mappings(guards)) {
		if (kind == STACK_GUARD_MPROTECT)
			atomic_store_explicit(&guards->kind, STACK_GUARD_CANARY,
			                      memory_order_relaxed);
		return STACK_GUARD_CANARY;
	}
	return system->mprotect(page, guards->page_bytes, PROT_NONE) == 0 ? STACK_GUARD_MPROTECT
	                                                                  : STACK_GUARD_CANARY;
}

void stack_guards_install(struct stack_guards *guards, char *const pages[], unsigned count,
                          enum stack_guard kinds[])
{
	unsigned done = 0;

	if (atomic_load_explicit(&guards->kind, memory_order_relaxed) == STACK_GUARD_MADVISE)
		done = advise_batch(guards, pages, count, MADV_GUARD_INSTALL);
	for (unsigned i = 0; i < done; i++)
		kinds[i] = STACK_GUARD_MADVISE;
	for (unsigned i = done; i < count; i++)
		kinds[i] = guard_one(guards, pages[i]);
}

void stack_guards_populate(struct stack_guards *guards, char *const pages[], unsigned count)
{
	(void)advise_batch(guards, pages, count, MADV_POPULATE_WRITE);
}

/* What overflowed may have been poisoned there. */
__attribute__((no_sanitize_address)) bool stack_guard_canary_is_intact(const void *page,
                                                                       size_t page_bytes)
{
	const uint64_t *words = page;
	uint64_t written = 0;

	for (size_t i = 0; i < page_bytes / sizeof(*words); i++)
		written |= words[i];
	return written == 0;
}

const char *stack_guard_name(enum stack_guard kind)
{
	static const char *const names[] = {
		[STACK_GUARD_AUTO] = "auto",
		[STACK_GUARD_MADVISE] = "madvise",
		[STACK_GUARD_MPROTECT] = "mprotect",
		[STACK_GUARD_CANARY] = "canary",
	};

	return names[kind];
}
