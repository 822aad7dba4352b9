#include "executors/cgroup_bandwidth.h"

#include <errno.h>

#include "executors/cgroup_file.h"
#include "executors/text_file.h"

enum { DEFAULT_PERIOD_US = 100000 }; /* the kernel's, and what a lone quota in cpu.max means */

/* "max 100000", "150000 100000"; the period may be missing. */
static int read_version_2(int directory_fd, struct cgroup_bandwidth *out)
{
	struct cgroup_bandwidth read = {.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
	char text[CGROUP_LIMIT_BYTES] = "";
	const char *cursor = text;
	int error = cgroup_file_read_limit(directory_fd, "cpu.max", text);

	if (error)
		return error;
	if (!cgroup_file_take_word(&cursor, "max") &&
	    (!cgroup_file_take_number(&cursor, &read.quota_us) || read.quota_us == 0))
		return -EINVAL;
	if (cgroup_file_take_word(&cursor, " ") &&
	    (!cgroup_file_take_number(&cursor, &read.period_us) || read.period_us == 0))
		return -EINVAL;
	if (!cgroup_file_at_end(cursor))
		return -EINVAL;
	*out = read;
	return 0;
}

static int read_version_1(int directory_fd, struct cgroup_bandwidth *out)
{
	struct cgroup_bandwidth read = {.period_us = DEFAULT_PERIOD_US};
	int error = cgroup_file_read_number(directory_fd, "cpu.cfs_quota_us", &read.quota_us);

	if (error)
		return error;
	error = cgroup_file_read_number(directory_fd, "cpu.cfs_period_us", &read.period_us);
	if (error && error != -ENOENT)
		return error;
	/* Some sandboxes show a period of 0 for a group without bandwidth control. */
	if (read.period_us == 0)
		read = (struct cgroup_bandwidth){.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
	*out = read;
	return 0;
}

int cgroup_bandwidth_read(int directory_fd, int version, struct cgroup_bandwidth *out)
{
	int error = version == 1 ? read_version_1(directory_fd, out)
	                         : read_version_2(directory_fd, out);

	if (error == -ENOENT) {
		*out = (struct cgroup_bandwidth){.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
		return 0;
	}
	return error;
}

int cgroup_throttling_read(int directory_fd, int version, struct cgroup_throttling *out)
{
	char text[CGROUP_STAT_BYTES] = "";
	ssize_t length = text_file_read(directory_fd, "cpu.stat", text, sizeof(text));

	if (length < 0)
		return (int)length;
	*out = (struct cgroup_throttling){
		.periods = cgroup_file_stat(text, "nr_periods "),
		.throttled_periods = cgroup_file_stat(text, "nr_throttled "),
		.throttled_ns = version == 1 ? cgroup_file_stat(text, "throttled_time ")
	                                     : cgroup_file_stat(text, "throttled_usec ") * 1000,
	};
	return 0;
}
