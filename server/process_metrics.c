#include "server/process_metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "executors/text_file.h"
#include "server/metrics_text.h"

/* From /proc/self/stat, proc(5). */
struct process_stat {
	long threads;
	unsigned long long start_ticks; /* since boot */
	unsigned long virtual_bytes;
	long resident_pages;
};

static int read_stat(struct process_stat *out)
{
	char content[1024];
	ssize_t length = text_file_read(AT_FDCWD, "/proc/self/stat", content, sizeof(content));

	if (length < 0)
		return (int)length;
	/* The name, in brackets, may hold anything: fields are counted from its end. */
	const char *fields = strrchr(content, ')');

	if (fields == NULL ||
	    sscanf(fields + 1,
	           " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
	           "%llu %lu %ld",
	           &out->threads, &out->start_ticks, &out->virtual_bytes,
	           &out->resident_pages) != 4)
		return -EPROTO;
	return 0;
}

/* Seconds of the Unix epoch at boot. Both clocks are there on every kernel that runs this. */
static double boot_time(void)
{
	struct timespec now, since_boot;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &since_boot);
	return (double)(now.tv_sec - since_boot.tv_sec) +
	       (double)(now.tv_nsec - since_boot.tv_nsec) / 1e9;
}

static int count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	int count = -1; /* the one that lists them */

	if (directory == NULL)
		return -errno;
	/* A directory stream of our own. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.')
			count++;
	closedir(directory);
	return count;
}

static void print(struct metrics_text *text, const char *name, const char *type, const char *help,
                  double value)
{
	metrics_family(text, name, type, help);
	metrics_sample(text, name, NULL, value);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void print_stat(struct metrics_text *text)
{
	struct process_stat stat;

	if (read_stat(&stat) != 0)
		return;
	print(text, "process_resident_memory_bytes", "gauge", "Resident memory.",
	      (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE));
	print(text, "process_virtual_memory_bytes", "gauge", "Virtual memory.",
	      (double)stat.virtual_bytes);
	print(text, "process_threads", "gauge", "Threads.", (double)stat.threads);
	print(text, "process_start_time_seconds", "gauge", "Start, in seconds of the Unix epoch.",
	      boot_time() + (double)stat.start_ticks / (double)sysconf(_SC_CLK_TCK));
}

static void print_fds(struct metrics_text *text)
{
	struct rlimit limit;
	int count = count_fds();

	if (count >= 0)
		print(text, "process_open_fds", "gauge", "Open descriptors.", count);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		print(text, "process_max_fds", "gauge", "Most descriptors that may be open.",
		      (double)limit.rlim_cur);
}

void process_metrics_print(struct metrics_text *text)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		print(text, "process_cpu_seconds_total", "counter", "CPU time, user and system.",
		      seconds(usage.ru_utime) + seconds(usage.ru_stime));
	print_stat(text);
	print_fds(text);
}
