#include "server/backlog_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

int backlog_limit(void)
{
	int fd = open("/proc/sys/net/core/somaxconn", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t length;
	char *end;
	long limit;

	if (fd < 0)
		return -errno;
	length = read(fd, text, sizeof(text) - 1);
	if (length < 0) {
		int error = -errno;

		(void)close(fd);
		return error;
	}
	(void)close(fd);
	text[length] = '\0';
	limit = strtol(text, &end, 10);
	if (end == text || limit < 0 || limit > INT_MAX)
		return -EINVAL;
	return (int)limit;
}
