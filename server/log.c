#include "server/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const severity_names[] = {
	[LOG_SEVERITY_INFO] = "info",
	[LOG_SEVERITY_WARNING] = "warning",
	[LOG_SEVERITY_ERROR] = "error",
};

/* Bytes that are in @line after @written more were wanted at @used, the NUL not counted. */
static size_t line_end(size_t used, int written, size_t size)
{
	if (written < 0)
		return used;
	return used + (size_t)written < size ? used + (size_t)written : size - 1;
}

/* Names from outside (variables, cgroups) may hold anything, and a log line is one line. */
static void blank_control_characters(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long dropped; /* lock; lines since the last one that was written */

/* A pipe that says it is writable takes PIPE_BUF bytes without blocking (pipe(7)). */
static bool has_room(void)
{
	struct pollfd stderr_fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&stderr_fd, 1, 0) == 1 && (stderr_fd.revents & POLLOUT);
}

/* Nobody may read what we write: a line is dropped rather than waited for, since the threads that
 * log are the ones that serve. There is nowhere to report an error of stderr. */
static void write_line_locked(const char *line, size_t length)
{
	char note[64];
	int note_length;

	if (!has_room()) {
		dropped++;
		return;
	}
	(void)!write(STDERR_FILENO, line, length);
	if (dropped == 0 || !has_room())
		return;
	note_length = snprintf(note, sizeof(note), "level=warning event=log_dropped lines=%lu\n",
	                       dropped);
	dropped = 0;
	if (note_length > 0)
		(void)!write(STDERR_FILENO, note, (size_t)note_length);
}

void log_event(enum log_severity severity, const char *event, const char *fields_format, ...)
{
	int saved_errno = errno;
	char line[1000];
	struct timespec now;
	struct tm utc;
	va_list arguments;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	size_t used = strftime(line, sizeof(line), "ts=%Y-%m-%dT%H:%M:%S", &utc);
	int written = snprintf(line + used, sizeof(line) - used, ".%03ldZ level=%s event=%s ",
	                       now.tv_nsec / 1000000, severity_names[severity], event);

	used = line_end(used, written, sizeof(line));
	va_start(arguments, fields_format);
	written = vsnprintf(line + used, sizeof(line) - used, fields_format, arguments);
	va_end(arguments);
	used = line_end(used, written, sizeof(line));
	blank_control_characters(line, used);
	if (line[used - 1] == ' ')
		used--;
	line[used++] = '\n';
	pthread_mutex_lock(&lock);
	write_line_locked(line, used);
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}
