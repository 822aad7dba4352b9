#include "server/show_cpus.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>

#include "executors/cpu_quota.h"

/* Names of groups are bytes, JSON is UTF-8: where they differ, '?' stands for what is not ASCII. */
static json_t *json_path(const char *path)
{
	json_t *string = json_string(path);
	char ascii[PATH_MAX];
	size_t length = 0;

	if (string)
		return string;
	for (; path[length] && length < sizeof(ascii) - 1; length++)
		ascii[length] = (char)((unsigned char)path[length] < 0x80 ? path[length] : '?');
	ascii[length] = '\0';
	return json_string(ascii);
}

static int print_path(FILE *out, const char *path)
{
	json_auto_t *json = path[0] ? json_path(path) : json_null();

	if (!json)
		return -ENOMEM;
	return json_dumpf(json, out, JSON_ENCODE_ANY) == 0 ? 0 : -EIO;
}

static int print_quota(FILE *out, const struct cpu_quota *quota)
{
	int error;

	(void)fprintf(out, "{\"usable\":%u,\"quota_cpus\":", quota->usable);
	/* 15 digits give back what was written in decimal: 0.8, not 0.80000000000000004. */
	if (isinf(quota->quota_cpus))
		(void)fputs("null", out);
	else
		(void)fprintf(out, "%.15g", quota->quota_cpus);
	(void)fprintf(out, ",\"affinity_cpus\":%u,\"limited_by\":", quota->affinity_cpus);
	error = print_path(out, quota->limited_by);
	if (error)
		return error;
	(void)fprintf(out, ",\"cgroup\":%d}\n", quota->cgroup);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

int show_cpus(const char *root, unsigned affinity_cpus, FILE *out, FILE *warnings)
{
	struct cpu_quota_reader *reader;
	struct cpu_quota quota;
	int error = cpu_quota_reader_create(root, affinity_cpus, &reader);

	if (error)
		return error;
	cpu_quota_read(reader, &quota);
	if (quota.warning)
		(void)fprintf(warnings, "fanoutd: %s %s\n", quota.warning_path, quota.warning);
	cpu_quota_reader_destroy(reader);
	return print_quota(out, &quota);
}
