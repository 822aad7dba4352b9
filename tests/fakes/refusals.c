#include "tests/fakes/refusals.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Written while no other thread is in our code, or about to be. */
static struct {
	atomic_uint kinds, calls, refused;
	atomic_uint first;
	atomic_bool all_after;
} refusals;

static void start(unsigned kinds, unsigned first, bool all_after)
{
	atomic_store(&refusals.first, first);
	atomic_store(&refusals.all_after, all_after);
	atomic_store(&refusals.calls, 0);
	atomic_store(&refusals.refused, 0);
	atomic_store(&refusals.kinds, kinds);
}

void refuse(unsigned kinds, unsigned first)
{
	start(kinds, first, false);
}

void refuse_from(unsigned kinds, unsigned first)
{
	start(kinds, first, true);
}

unsigned refusals_end(void)
{
	atomic_store(&refusals.kinds, 0);
	return atomic_load(&refusals.refused);
}

static bool refuses(enum refusal_kind kind, int error)
{
	unsigned call, first = atomic_load(&refusals.first);

	if (!(atomic_load(&refusals.kinds) & kind))
		return false;
	call = atomic_fetch_add(&refusals.calls, 1) + 1;
	if (call != first && !(atomic_load(&refusals.all_after) && call > first))
		return false;
	atomic_fetch_add(&refusals.refused, 1);
	errno = error;
	return true;
}

/* The linker gives these names: __real_x is x, and who calls x comes to __wrap_x. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_reallocarray(void *memory, size_t count, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t max);
void *__real_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *arg), void *arg);
int __real_epoll_create1(int flags);
int __real_eventfd(unsigned count, int flags);
int __real_socket(int domain, int type, int protocol);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *arg), void *arg);
int __wrap_epoll_create1(int flags);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_socket(int domain, int type, int protocol);

void *__wrap_malloc(size_t bytes)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_reallocarray(memory, count, bytes);
}

char *__wrap_strdup(const char *text)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t max)
{
	return refuses(REFUSE_MEMORY, ENOMEM) ? NULL : __real_strndup(text, max);
}

void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return refuses(REFUSE_MAPPINGS, ENOMEM)
	               ? MAP_FAILED
	               : __real_mmap64(address, bytes, protection, flags, fd, offset);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *arg), void *arg)
{
	return refuses(REFUSE_THREADS, EAGAIN)
	               ? EAGAIN
	               : __real_pthread_create(thread, attributes, main, arg);
}

int __wrap_epoll_create1(int flags)
{
	return refuses(REFUSE_FDS, EMFILE) ? -1 : __real_epoll_create1(flags);
}

int __wrap_eventfd(unsigned count, int flags)
{
	return refuses(REFUSE_FDS, EMFILE) ? -1 : __real_eventfd(count, flags);
}

int __wrap_socket(int domain, int type, int protocol)
{
	return refuses(REFUSE_FDS, EMFILE) ? -1 : __real_socket(domain, type, protocol);
}
