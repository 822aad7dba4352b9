#include "server/log.h"

#include <errno.h>
#include <stdarg.h>
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
	if (line[used - 1] == ' ')
		used--;
	line[used++] = '\n';
	/* There is nowhere to report that stderr is closed or full. */
	(void)!write(STDERR_FILENO, line, used);
	errno = saved_errno;
}
