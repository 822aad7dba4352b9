/* Trees read off real containers and virtual machines, each with the answer expected of it. */
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "executors/cpu_quota.h"
#include "tests/with_cmocka.h"

enum { FEWEST_CASES = 44 };

/* Says what differs rather than asserting, so that one run shows every failing case. */
static int compare(const char *name, const struct cpu_quota *quota, const json_t *expected)
{
	const json_t *quota_cpus = json_object_get(expected, "quota_cpus");
	const char *limited_by = json_string_value(json_object_get(expected, "limited_by"));
	double cpus = json_is_null(quota_cpus) ? INFINITY : json_number_value(quota_cpus);
	int mistakes = 0;

	mistakes += quota->usable != json_integer_value(json_object_get(expected, "usable"));
	mistakes += quota->cgroup != json_integer_value(json_object_get(expected, "version"));
	mistakes += quota->quota_cpus != cpus;
	mistakes += strcmp(quota->limited_by, limited_by ? limited_by : "") != 0;
	/* Every case where the answer may miss something has a note. */
	mistakes += !quota->warning != !json_object_get(expected, "note");
	if (mistakes)
		print_error("%s: usable %u, version %d, quota %g, limited by '%s', warning '%s'\n",
		            name, quota->usable, quota->cgroup, quota->quota_cpus,
		            quota->limited_by, quota->warning ? quota->warning : "");
	return mistakes;
}

static int check_case(const char *name)
{
	struct cpu_quota_reader *reader;
	struct cpu_quota quota;
	char path[PATH_MAX];
	json_t *expected;
	long affinity;
	int mistakes;

	assert_in_range(snprintf(path, sizeof(path), "%s/%s/expected.json", QUOTA_CASES, name), 1,
	                sizeof(path) - 1);
	expected = json_load_file(path, 0, NULL);
	assert_non_null(expected);
	affinity = (long)json_integer_value(json_object_get(expected, "affinity_cpus"));
	assert_in_range(affinity, 1, 4096);

	assert_in_range(snprintf(path, sizeof(path), "%s/%s/root", QUOTA_CASES, name), 1,
	                sizeof(path) - 1);
	assert_int_equal(cpu_quota_reader_create(path, (unsigned)affinity, &reader), 0);
	cpu_quota_read(reader, &quota);
	mistakes = compare(name, &quota, expected);
	cpu_quota_reader_destroy(reader);
	json_decref(expected);
	return mistakes;
}

static void answers_every_recorded_tree_as_expected(void **state)
{
	DIR *cases = opendir(QUOTA_CASES);
	const struct dirent *entry;
	int mistakes = 0, found = 0;

	(void)state;
	assert_non_null(cases);
	while ((entry = readdir(cases)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		mistakes += check_case(entry->d_name);
		found++;
	}
	closedir(cases);
	assert_int_equal(mistakes, 0);
	assert_true(found >= FEWEST_CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_every_recorded_tree_as_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
