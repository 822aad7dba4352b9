#include "executors/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t text_file_read(int directory_fd, const char *path, char *text, size_t text_bytes)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	int error;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + used, text_bytes - used);
		if (got > 0)
			used += (size_t)got;
	} while (used < text_bytes && (got > 0 || (got < 0 && errno == EINTR)));
	error = got < 0 ? -errno : 0;
	(void)close(fd);
	if (error)
		return error;
	if (used == text_bytes)
		return -EFBIG;
	text[used] = '\0';
	return (ssize_t)used;
}
