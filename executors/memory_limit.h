#ifndef EXECUTORS_MEMORY_LIMIT_H
#define EXECUTORS_MEMORY_LIMIT_H

#include <limits.h>
#include <stdint.h>

/*
 * How much memory this process's cgroup may take, of version 1 or 2: the smallest limit of it and
 * of every ancestor in sight (memory.max, memory.limit_in_bytes). Limits and membership change
 * while a process runs: read again every second or so.
 */
struct memory_limit_reader;

struct memory_limit {
	uint64_t limit_bytes;      /* UINT64_MAX: no limit */
	uint64_t used_bytes;       /* by all processes of the group that has it, without files that
	                              the kernel keeps in memory and can drop; 0 without a limit */
	uint64_t file_bytes;       /* those files */
	int cgroup;                /* version that limits memory here, 1 or 2; 0: none found */
	char limited_by[PATH_MAX]; /* directory of that group, without root; "": no limit */
};

/**
 * Make a reader. @root (copied) stands before /proc and every cgroup mount, "" for the real system.
 *
 * On success *@out is the caller's, to be given to memory_limit_reader_destroy().
 * Returns 0; -ENOMEM; -ENAMETOOLONG @root is too long. *@out is untouched on failure.
 */
int memory_limit_reader_create(const char *root, struct memory_limit_reader **out);

/** NULL is allowed. */
void memory_limit_reader_destroy(struct memory_limit_reader *reader);

/**
 * Read the limit as it is now. What cannot be read limits nothing; of a group that is there but
 * fails to be read, what was read last stands.
 *
 * Returns 0; a negative errno: *@out is what was read last, or no limit. One thread at a time, not
 * a task: it blocks on files and takes some 25 KiB of stack.
 */
int memory_limit_read(struct memory_limit_reader *reader, struct memory_limit *out);

/** A descriptor of the file that says what the group of the limit that was read last uses, files
 * included. Returns it; -ENOENT there is no limit; another negative errno of open(2). */
int memory_limit_open_usage(const struct memory_limit_reader *reader);

#endif
