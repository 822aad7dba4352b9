#ifndef EXECUTORS_CGROUP_FILE_H
#define EXECUTORS_CGROUP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reading the small text files of a cgroup's directory. */

enum {
	CGROUP_LIMIT_BYTES = 128, /* two numbers of 64 bits and more */
	CGROUP_STAT_BYTES = 8192, /* memory.stat takes about 2 KiB */
};

/** Read the file @name in @directory_fd, one with a limit, as text_file_read() does. Returns 0;
 * -EINVAL it is too long; a negative errno of open(2) or read(2). */
int cgroup_file_read_limit(int directory_fd, const char *name, char text[CGROUP_LIMIT_BYTES]);

/** A file with one number, any negative one of which, such as -1, is read as 0. -EINVAL: something
 * else stands there. *@out is untouched on failure. */
int cgroup_file_read_number(int directory_fd, const char *name, uint64_t *out);

/** Read the digits, or the word, at *@cursor and move it behind them. False: it is not there, or
 * does not fit. */
bool cgroup_file_take_number(const char **cursor, uint64_t *out);
bool cgroup_file_take_word(const char **cursor, const char *word);

/** Whether nothing follows but the end of the line. */
bool cgroup_file_at_end(const char *cursor);

/** The number behind @name, a word at the start of a line of @text that ends in a space; 0: there
 * is none. */
uint64_t cgroup_file_stat(const char *text, const char *name);

#endif
