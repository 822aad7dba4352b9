/* What changes from one read to the next. */
#include "executors/cpu_quota.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "executors/cpu_affinity.h"
#include "tests/unit/cpu_quota_fixture.h"
#include "tests/with_cmocka.h"

static void start_with_parent_and_leaf(struct fixture *fixture)
{
	start(fixture, 8);
	write_file(fixture, "/proc/self/cgroup", "0::/p/a\n");
	write_file(fixture, "/proc/self/mountinfo", V2_MOUNT);
	write_file(fixture, "/sys/fs/cgroup/p/cpu.max", "max 100000\n");
	write_file(fixture, "/sys/fs/cgroup/p/a/cpu.max", "200000 100000\n");
}

static void follows_a_quota_that_changes(void **state)
{
	struct fixture fixture;

	(void)state;
	start_with_parent_and_leaf(&fixture);
	assert_int_equal(read_usable(&fixture), 2);
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.max", "300000 100000\n");
	assert_int_equal(read_usable(&fixture), 3);
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.max", "50000 100000\n");
	assert_int_equal(read_usable(&fixture), 1);
	assert_true(fixture.quota.quota_cpus == 0.5);
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.max", "max 100000\n");
	assert_int_equal(read_usable(&fixture), 8);
	write_file(&fixture, "/sys/fs/cgroup/p/cpu.max", "400000 100000\n");
	assert_int_equal(read_usable(&fixture), 4);
	assert_string_equal(fixture.quota.limited_by, "/sys/fs/cgroup/p");
	assert_null(fixture.quota.warning);
	finish(&fixture);
}

static void follows_a_process_that_moves(void **state)
{
	struct fixture fixture;

	(void)state;
	start_with_parent_and_leaf(&fixture);
	write_file(&fixture, "/sys/fs/cgroup/elsewhere/cpu.max", "500000 100000\n");
	assert_int_equal(read_usable(&fixture), 2);
	write_file(&fixture, "/proc/self/cgroup", "0::/elsewhere\n");
	assert_int_equal(read_usable(&fixture), 5);
	assert_string_equal(fixture.quota.limited_by, "/sys/fs/cgroup/elsewhere");
	write_file(&fixture, "/proc/self/cgroup", "1:name=systemd:/\n0::/p/a\n");
	assert_int_equal(read_usable(&fixture), 2);
	assert_null(fixture.quota.warning);
	finish(&fixture);
}

static void keeps_the_last_value_once_the_group_is_deleted(void **state)
{
	struct fixture fixture;

	(void)state;
	start_with_parent_and_leaf(&fixture);
	assert_int_equal(read_usable(&fixture), 2);
	cgroup_tree_remove(&fixture.tree, "/sys/fs/cgroup/p/a");
	assert_int_equal(read_usable(&fixture), 2);
	assert_non_null(fixture.quota.warning);
	assert_string_equal(fixture.quota.warning_path, "/sys/fs/cgroup/p/a");
	assert_string_equal(fixture.quota.limited_by, "/sys/fs/cgroup/p/a");
	assert_int_equal(read_usable(&fixture), 2);
	assert_null(fixture.quota.warning);
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.max", "300000 100000\n");
	assert_int_equal(read_usable(&fixture), 3);
	finish(&fixture);
}

static void keeps_the_last_value_while_descriptors_have_run_out(void **state)
{
	struct rlimit limit, none;
	struct fixture fixture;
	unsigned usable;

	(void)state;
	start_with_parent_and_leaf(&fixture);
	assert_int_equal(read_usable(&fixture), 2);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	usable = read_usable(&fixture);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(usable, 2);
	assert_non_null(fixture.quota.warning);
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.max", "300000 100000\n");
	assert_int_equal(read_usable(&fixture), 3);
	finish(&fixture);
}

static void tells_each_trouble_in_turn(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, 8);
	write_file(&fixture, "/proc/self/cgroup", "0::/../x\n");
	write_file(&fixture, "/proc/self/mountinfo", V2_MOUNT);
	write_file(&fixture, "/sys/fs/cgroup/cpu.max", "what\n");
	(void)read_usable(&fixture);
	assert_non_null(strstr(fixture.quota.warning, "in sight"));
	(void)read_usable(&fixture);
	assert_non_null(strstr(fixture.quota.warning, "not understood"));
	assert_string_equal(fixture.quota.warning_path, "/sys/fs/cgroup");
	(void)read_usable(&fixture);
	assert_null(fixture.quota.warning);
	finish(&fixture);
}

static void reads_throttling_of_the_group_that_limits(void **state)
{
	struct fixture fixture;

	(void)state;
	start_with_parent_and_leaf(&fixture);
	write_file(&fixture, "/sys/fs/cgroup/p/cpu.stat",
	           "nr_periods 1\nnr_throttled 1\nthrottled_usec 1\n");
	write_file(&fixture, "/sys/fs/cgroup/p/a/cpu.stat",
	           "usage_usec 60444\nnr_periods 20\nnr_throttled 3\nthrottled_usec 1500\n"
	           "nr_bursts 9\n");
	(void)read_usable(&fixture);
	assert_int_equal(fixture.quota.throttling.periods, 20);
	assert_int_equal(fixture.quota.throttling.throttled_periods, 3);
	assert_int_equal(fixture.quota.throttling.throttled_ns, 1500000);

	write_file(&fixture, "/proc/self/cgroup", "4:cpu,cpuacct:/b\n");
	write_file(&fixture, "/proc/self/mountinfo", V1_MOUNT);
	write_file(&fixture, "/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "50000\n");
	write_file(&fixture, "/sys/fs/cgroup/cpu/b/cpu.stat",
	           "nr_periods 2\nnr_throttled 1\nthrottled_time 77\n");
	(void)read_usable(&fixture);
	assert_int_equal(fixture.quota.throttling.throttled_periods, 1);
	assert_int_equal(fixture.quota.throttling.throttled_ns, 77);
	finish(&fixture);
}

static void refuses_a_root_that_is_too_long(void **state)
{
	struct cpu_quota_reader *reader = NULL;
	char *root = malloc(PATH_MAX + 1);

	(void)state;
	assert_non_null(root);
	memset(root, 'x', PATH_MAX);
	root[PATH_MAX] = '\0';
	assert_int_equal(cpu_quota_reader_create(root, 0, &reader), -ENAMETOOLONG);
	assert_null(reader);
	free(root);
}

static void counts_the_real_machine(void **state)
{
	struct cpu_quota_reader *reader;
	struct cpu_quota quota;

	(void)state;
	assert_int_equal(cpu_quota_reader_create("", 0, &reader), 0);
	cpu_quota_read(reader, &quota);
	assert_in_range(quota.affinity_cpus, 1, 1 << 20);
	assert_in_range(quota.usable, 1, quota.affinity_cpus);
	cpu_quota_reader_destroy(reader);
}

/* A kernel built for 4,096 CPUs, with 1,500 of them allowed. */
static int large_machine(pid_t pid, size_t set_bytes, cpu_set_t *set)
{
	(void)pid;
	if (set_bytes < 4096 / 8) {
		errno = EINVAL;
		return -1;
	}
	for (size_t cpu = 0; cpu < 1500; cpu++)
		CPU_SET_S(2 * cpu, set_bytes, set);
	return 0;
}

static int refusing_machine(pid_t pid, size_t set_bytes, cpu_set_t *set)
{
	(void)pid;
	(void)set_bytes;
	(void)set;
	errno = EPERM;
	return -1;
}

static void counts_over_a_thousand_cpus(void **state)
{
	(void)state;
	assert_int_equal(cpu_affinity_ask(large_machine, 0), 1500);
	assert_int_equal(cpu_affinity_ask(refusing_machine, 0), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_a_quota_that_changes),
		cmocka_unit_test(follows_a_process_that_moves),
		cmocka_unit_test(keeps_the_last_value_once_the_group_is_deleted),
		cmocka_unit_test(keeps_the_last_value_while_descriptors_have_run_out),
		cmocka_unit_test(tells_each_trouble_in_turn),
		cmocka_unit_test(reads_throttling_of_the_group_that_limits),
		cmocka_unit_test(refuses_a_root_that_is_too_long),
		cmocka_unit_test(counts_the_real_machine),
		cmocka_unit_test(counts_over_a_thousand_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
