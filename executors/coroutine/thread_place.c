#include "executors/coroutine/thread_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "executors/text_file.h"

static bool read_text(int tid, char *text, size_t size)
{
	char path[64];
	int written = snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);

	if (written < 0 || (size_t)written >= sizeof(path))
		return false;
	return text_file_read(AT_FDCWD, path, text, size) > 0;
}

/*
 *	"running"                        or waiting for a CPU
 *	"CALL ARGUMENT … SP PC"          asleep in a system call
 *	"-1 SP PC"                       asleep elsewhere, in a page fault
 */
void thread_place_read(int tid, struct thread_place *out)
{
	char text[256], *rest = text;

	*out = (struct thread_place){.call = -1, .kind = PINNED_CPU};
	if (!read_text(tid, text, sizeof(text)))
		return;
	out->is_running = strncmp(text, "running", strlen("running")) == 0;
	if (out->is_running)
		return;
	out->call = strtol(rest, &rest, 10);
	for (size_t i = 0; out->call >= 0 && i < 6; i++)
		out->arguments[i] = strtoull(rest, &rest, 16);
	out->sp = strtoull(rest, &rest, 16);
	out->pc = strtoull(rest, &rest, 16);
	if (out->call >= 0)
		out->kind = out->call == SYS_futex ? PINNED_LOCK : PINNED_SYSCALL;
}

bool thread_place_is_same(const struct thread_place *one, const struct thread_place *other)
{
	return !one->is_running && !other->is_running && one->call == other->call &&
	       one->sp == other->sp && one->pc == other->pc &&
	       memcmp(one->arguments, other->arguments, sizeof(one->arguments)) == 0;
}
