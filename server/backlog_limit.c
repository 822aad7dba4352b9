#include "server/backlog_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "executors/decimal.h"
#include "executors/text_file.h"

int backlog_limit(void)
{
	char text[24];
	ssize_t length =
		text_file_read(AT_FDCWD, "/proc/sys/net/core/somaxconn", text, sizeof(text));
	uint64_t limit;

	if (length < 0)
		return (int)length;
	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (!decimal_read(text, (size_t)length, &limit) || limit > INT_MAX)
		return -EINVAL;
	return (int)limit;
}
