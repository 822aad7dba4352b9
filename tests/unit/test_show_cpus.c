#include "server/show_cpus.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/cgroup_tree.h"
#include "tests/with_cmocka.h"

#define V2_MOUNT "31 30 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

struct fixture {
	struct cgroup_tree tree;
	char *shown;
	char *warned;
};

static void show(struct fixture *fixture, unsigned affinity_cpus)
{
	size_t ignored;
	FILE *out = open_memstream(&fixture->shown, &ignored);
	FILE *warnings = open_memstream(&fixture->warned, &ignored);

	assert_non_null(out);
	assert_non_null(warnings);
	assert_int_equal(show_cpus(fixture->tree.root, affinity_cpus, out, warnings), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(fclose(warnings), 0);
}

static void start(struct fixture *fixture, const char *membership, const char *directory,
                  const char *limit)
{
	char path[256];

	cgroup_tree_init(&fixture->tree);
	cgroup_tree_write(&fixture->tree, "/proc/self/cgroup", membership);
	cgroup_tree_write(&fixture->tree, "/proc/self/mountinfo", V2_MOUNT);
	assert_in_range(snprintf(path, sizeof(path), "%s/cpu.max", directory), 1, sizeof(path) - 1);
	cgroup_tree_write(&fixture->tree, path, limit);
}

static void finish(struct fixture *fixture)
{
	free(fixture->shown);
	free(fixture->warned);
	cgroup_tree_finish(&fixture->tree);
}

static void shows_a_limit(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "0::/a\n", "/sys/fs/cgroup/a", "80000 100000\n");
	show(&fixture, 8);
	assert_string_equal(fixture.shown, "{\"usable\":1,\"quota_cpus\":0.8,\"affinity_cpus\":8,"
	                                   "\"limited_by\":\"/sys/fs/cgroup/a\",\"cgroup\":2}\n");
	assert_string_equal(fixture.warned, "");
	finish(&fixture);
}

static void shows_null_without_a_limit(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "0::/a\n", "/sys/fs/cgroup/a", "max 100000\n");
	show(&fixture, 3);
	assert_string_equal(fixture.shown, "{\"usable\":3,\"quota_cpus\":null,\"affinity_cpus\":3,"
	                                   "\"limited_by\":null,\"cgroup\":2}\n");
	finish(&fixture);
}

static void escapes_odd_names(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "0::/q\"b\\s\tt\n", "/sys/fs/cgroup/q\"b\\s\tt", "200000 100000\n");
	show(&fixture, 8);
	assert_string_equal(fixture.shown,
	                    "{\"usable\":2,\"quota_cpus\":2,\"affinity_cpus\":8,"
	                    "\"limited_by\":\"/sys/fs/cgroup/q\\\"b\\\\s\\tt\",\"cgroup\":2}\n");
	finish(&fixture);
}

static void stays_json_for_names_that_are_not_utf8(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "0::/\xff\n", "/sys/fs/cgroup/\xff", "200000 100000\n");
	show(&fixture, 8);
	assert_non_null(strstr(fixture.shown, "\"limited_by\":\"/sys/fs/cgroup/?\""));
	finish(&fixture);
}

static void warns_on_the_other_stream(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "0::/../x\n", "/sys/fs/cgroup", "200000 100000\n");
	show(&fixture, 8);
	assert_non_null(strstr(fixture.shown, "\"usable\":2,"));
	assert_ptr_equal(strstr(fixture.warned, "fanoutd: /sys/fs/cgroup is all that is in sight"),
	                 fixture.warned);
	finish(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_a_limit),
		cmocka_unit_test(shows_null_without_a_limit),
		cmocka_unit_test(escapes_odd_names),
		cmocka_unit_test(stays_json_for_names_that_are_not_utf8),
		cmocka_unit_test(warns_on_the_other_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
