#include "server/backlog_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "executors/decimal.h"

int backlog_limit(void)
{
	int fd = open("/proc/sys/net/core/somaxconn", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t length;
	uint64_t limit;
	int error;

	if (fd < 0)
		return -errno;
	length = read(fd, text, sizeof(text));
	error = length < 0 ? -errno : 0;
	(void)close(fd);
	if (error)
		return error;
	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (!decimal_read(text, (size_t)length, &limit) || limit > INT_MAX)
		return -EINVAL;
	return (int)limit;
}
