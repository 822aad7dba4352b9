#include "server/cpu_watch.h"

#include "server/log.h"
#include "server/metrics_text.h"

static void log_warning(const struct cpu_quota *quota)
{
	if (quota->warning != NULL)
		log_event(LOG_SEVERITY_WARNING, "cpu_quota", "warning=\"%s\" path=\"%s\"",
		          quota->warning, quota->warning_path);
}

static void store(struct cpu_watch *watch, const struct cpu_quota *quota)
{
	pthread_mutex_lock(&watch->lock);
	watch->quota = *quota;
	pthread_mutex_unlock(&watch->lock);
}

int cpu_watch_init(struct cpu_watch *watch)
{
	struct cpu_quota quota;
	int error = cpu_quota_reader_create("", 0, &watch->reader);

	if (error != 0)
		return error;
	watch->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cpu_quota_read(watch->reader, &quota);
	log_warning(&quota);
	store(watch, &quota);
	return 0;
}

void cpu_watch_finish(struct cpu_watch *watch)
{
	cpu_quota_reader_destroy(watch->reader);
	pthread_mutex_destroy(&watch->lock);
}

unsigned cpu_watch_read(struct cpu_watch *watch)
{
	struct cpu_quota quota;

	cpu_quota_read(watch->reader, &quota);
	log_warning(&quota);
	/* Only this thread writes it. An infinite quota equals itself. */
	if (quota.usable != watch->quota.usable || quota.quota_cpus != watch->quota.quota_cpus)
		log_event(LOG_SEVERITY_INFO, "cpus_changed",
		          "usable=%u was=%u quota=%g affinity=%u limited_by=\"%s\"", quota.usable,
		          watch->quota.usable, quota.quota_cpus, quota.affinity_cpus,
		          quota.limited_by);
	store(watch, &quota);
	return quota.usable;
}

static void print(struct metrics_text *text, const char *name, const char *type, const char *help,
                  double value)
{
	metrics_family(text, name, type, help);
	metrics_sample(text, name, NULL, value);
}

void cpu_watch_print(struct cpu_watch *watch, struct metrics_text *text)
{
	pthread_mutex_lock(&watch->lock);
	unsigned usable = watch->quota.usable;
	double quota_cpus = watch->quota.quota_cpus;
	struct cgroup_throttling throttling = watch->quota.throttling;

	pthread_mutex_unlock(&watch->lock);
	print(text, "fanoutd_usable_cpus", "gauge",
	      "CPUs that fanoutd sizes itself for: the quota rounded up, within affinity.", usable);
	print(text, "fanoutd_cpu_quota_cores", "gauge",
	      "CPU quota of the cgroup and those above it; +Inf without a limit.", quota_cpus);
	print(text, "fanoutd_cgroup_periods_total", "counter",
	      "Periods of the quota in which the limiting cgroup ran.", (double)throttling.periods);
	print(text, "fanoutd_cgroup_throttled_periods_total", "counter",
	      "Periods in which the limiting cgroup used up its quota.",
	      (double)throttling.throttled_periods);
	print(text, "fanoutd_cgroup_throttled_seconds_total", "counter",
	      "Time for which the limiting cgroup was stopped, summed over CPUs.",
	      (double)throttling.throttled_ns / 1e9);
}
