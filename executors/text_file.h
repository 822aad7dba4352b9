#ifndef EXECUTORS_TEXT_FILE_H
#define EXECUTORS_TEXT_FILE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Read the whole file @path, a relative one from @directory_fd on, which may be AT_FDCWD or an
 * O_PATH descriptor. Behind what is read there is a NUL; NULs in the file are kept. Any thread;
 * blocks.
 *
 * Returns the length without that NUL; -EFBIG there are @text_bytes or more in it; another negative
 * errno of open(2) or read(2).
 */
ssize_t text_file_read(int directory_fd, const char *path, char *text, size_t text_bytes);

#endif
