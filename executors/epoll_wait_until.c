#include "executors/epoll_wait_until.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

/* Found out at the first call that has to wait. Relaxed: every thread finds the same. */
static atomic_bool no_pwait2;

static int wait_ns(int epoll_fd, struct epoll_event *events, int max, int64_t ns)
{
	struct timespec timeout = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	int count;

	if (!atomic_load_explicit(&no_pwait2, memory_order_relaxed)) {
		count = epoll_pwait2(epoll_fd, events, max, &timeout, NULL);
		/* EPERM: a seccomp profile older than the call */
		if (count >= 0 || (errno != ENOSYS && errno != EPERM))
			return count;
		atomic_store_explicit(&no_pwait2, true, memory_order_relaxed);
	}
	if (ns > INT64_C(1000000000000))
		ns = INT64_C(1000000000000);
	return epoll_wait(epoll_fd, events, max, (int)((ns + 999999) / 1000000));
}

int epoll_wait_until(int epoll_fd, struct epoll_event *events, int max, struct deadline deadline)
{
	int64_t ns = deadline.ns ? deadline_remaining_ns(deadline) : 0;
	int count;

	if (ns == 0 || ns == INT64_MAX)
		count = epoll_wait(epoll_fd, events, max, ns ? -1 : 0);
	else
		count = wait_ns(epoll_fd, events, max, ns);
	assert(count >= 0 || errno == EINTR);
	return count > 0 ? count : 0;
}
