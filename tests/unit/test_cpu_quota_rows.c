/* Small trees, each with what has been read wrongly somewhere. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "executors/cpu_quota.h"
#include "tests/unit/cpu_quota_fixture.h"
#include "tests/with_cmocka.h"

#define OTHER_MOUNTS                                                                               \
	"23 1 0:21 / / rw shared:1 - overlay overlay rw,lowerdir=/a:/b\n"                          \
	"24 23 0:22 / /proc rw - proc proc rw\n\n"                                                 \
	"garbage\n"
#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LONG_PATH "/" LONG "/" LONG "/" LONG "/" LONG "/" LONG

struct file {
	const char *path;
	const char *text;
};

struct row {
	const char *name;
	struct {
		const char *membership; /* NULL: no such file */
		const char *mounts;
		unsigned affinity_cpus;
	} process;
	struct file files[6];
	struct {
		unsigned usable;
		double quota_cpus;
		const char *limited_by;
		int cgroup;
		bool warns;
	} expect;
};

static const struct row rows[] = {
	{"1.5 rounds up",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/a", 2}},
	{"a quarter is one",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "25000 100000\n"}},
         {1, 0.25, "/sys/fs/cgroup/a", 2}},
	{"a whole number stays",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"}},
         {3, 3, "/sys/fs/cgroup/a", 2}},
	{"one microsecond over rounds up",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "300001 100000\n"}},
         {4, 3.00001, "/sys/fs/cgroup/a", 2}},
	{"max is no limit",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}},
         {8, INFINITY, "", 2}},
	{"only the parent limits",
         {"0::/p/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/p/a/cpu.max", "max 100000\n"},
          {"/sys/fs/cgroup/p/cpu.max", "200000 100000\n"}},
         {2, 2, "/sys/fs/cgroup/p", 2}},
	{"the leaf is tighter than its parent",
         {"0::/p/a\n", V2_MOUNT, 16},
         {{"/sys/fs/cgroup/p/a/cpu.max", "200000 100000\n"},
          {"/sys/fs/cgroup/p/cpu.max", "800000 100000\n"}},
         {2, 2, "/sys/fs/cgroup/p/a", 2}},
	{"the parent is the tightest of three",
         {"0::/g/p/a\n", V2_MOUNT, 16},
         {{"/sys/fs/cgroup/g/p/a/cpu.max", "800000 100000\n"},
          {"/sys/fs/cgroup/g/p/cpu.max", "200000 100000\n"},
          {"/sys/fs/cgroup/g/cpu.max", "400000 100000\n"}},
         {2, 2, "/sys/fs/cgroup/g/p", 2}},
	{"periods differ",
         {"0::/p/a\n", V2_MOUNT, 16},
         {{"/sys/fs/cgroup/p/a/cpu.max", "30000 10000\n"},
          {"/sys/fs/cgroup/p/cpu.max", "200000 100000\n"}},
         {2, 2, "/sys/fs/cgroup/p", 2}},
	{"controller not delegated to the leaf",
         {"0::/p/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/p/a/cgroup.procs", "1\n"},
          {"/sys/fs/cgroup/p/cpu.max", "200000 100000\n"}},
         {2, 2, "/sys/fs/cgroup/p", 2}},
	{"fifteen characters are all read",
         {"0::/a\n", V2_MOUNT, 64},
         {{"/sys/fs/cgroup/a/cpu.max", "12800000 1000000\n"}},
         {13, 12.8, "/sys/fs/cgroup/a", 2}},
	{"a period of 10 ms",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "5000 10000\n"}},
         {1, 0.5, "/sys/fs/cgroup/a", 2}},
	{"quota above the host",
         {"0::/a\n", V2_MOUNT, 4},
         {{"/sys/fs/cgroup/a/cpu.max", "1600000 100000\n"}},
         {4, 16, "/sys/fs/cgroup/a", 2}},
	{"the largest quota there can be",
         {"0::/a\n", V2_MOUNT, 4},
         {{"/sys/fs/cgroup/a/cpu.max", "18446744073709551615 1\n"}},
         {4, 18446744073709551615.0, "/sys/fs/cgroup/a", 2}},
	{"affinity below the quota",
         {"0::/a\n", V2_MOUNT, 1},
         {{"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"}},
         {1, 2, "/sys/fs/cgroup/a", 2}},
	{"namespace root",
         {"0::/\n", OTHER_MOUNTS V2_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup", 2}},
	{"moved out of the namespace: mount point only",
         {"0::/../../x\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu.max", "400000 100000\n"}, {"/x/cpu.max", "100000 100000\n"}},
         {4, 4, "/sys/fs/cgroup", 2, .warns = true}},
	{"dots within a name lead nowhere",
         {"0::/a..b/..c\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a..b/..c/cpu.max", "400000 100000\n"}},
         {4, 4, "/sys/fs/cgroup/a..b/..c", 2}},
	{"v1 root is stripped",
         {"4:cpu,cpuacct:/docker/1\n",
          "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n", 8},
         {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
          {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
         {1, 0.5, "/sys/fs/cgroup/cpu", 1}},
	{"v1 order cpuacct,cpu",
         {"4:cpuacct,cpu:/a\n",
          "32 31 0:29 / /sys/fs/cgroup/cpuacct,cpu rw - cgroup cgroup rw,cpuacct,cpu\n", 8},
         {{"/sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_quota_us", "250000\n"},
          {"/sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_period_us", "100000\n"}},
         {3, 2.5, "/sys/fs/cgroup/cpuacct,cpu/a", 1}},
	{"v1 cpu and cpuacct apart",
         {"2:cpuacct:/\n1:cpu:/\n",
          "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
          "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
          "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
          8},
         {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"},
          {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
          {"/sys/fs/cgroup/cpuacct/cpu.cfs_quota_us", "1000\n"}},
         {3, 2.5, "/sys/fs/cgroup/cpu", 1}},
	{"v1 quota -1",
         {"4:cpu,cpuacct:/a\n", V1_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
          {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
         {8, INFINITY, "", 1}},
	{"v1 period 0",
         {"4:cpu,cpuacct:/a\n", V1_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"},
          {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "0\n"}},
         {8, INFINITY, "", 1}},
	{"v1 parent is tighter",
         {"4:cpu,cpuacct:/p/a\n", V1_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu/p/a/cpu.cfs_quota_us", "150000\n"},
          {"/sys/fs/cgroup/cpu/p/a/cpu.cfs_period_us", "50000\n"},
          {"/sys/fs/cgroup/cpu/p/cpu.cfs_quota_us", "150000\n"},
          {"/sys/fs/cgroup/cpu/p/cpu.cfs_period_us", "100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/cpu/p", 1}},
	{"hybrid with v1 cpu",
         {"1:name=systemd:/a\n4:cpu,cpuacct:/a\n0::/b\n",
          V1_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", 8},
         {{"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n"},
          {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"},
          {"/sys/fs/cgroup/unified/b/cpu.max", "100000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/cpu/a", 1}},
	{"hybrid with v2 cpu",
         {"5:cpuset:/a\n1:name=systemd:/a\n0::/b\n",
          "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
          "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
          8},
         {{"/sys/fs/cgroup/unified/b/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/unified/b", 2}},
	{"a hierarchy named cpu is not the controller",
         {"3:name=cpu:/x\n0::/b\n",
          "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,name=cpu\n" V2_MOUNT, 8},
         {{"/sys/fs/cgroup/b/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/b", 2}},
	{"colon, space and backslash in names",
         {"0::/docker/a:b c\\d\n", "31 30 0:24 /docker /run/my\\040cg\\134x rw - cgroup2 c rw\n",
          8},
         {{"/run/my cg\\x/a:b c\\d/cpu.max", "90000 100000\n"}},
         {1, 0.9, "/run/my cg\\x/a:b c\\d", 2}},
	{"several cgroup2 mounts: the one that shows most",
         {"0::/docker/1\n",
          "40 30 0:24 /docker/1 /mnt/own rw - cgroup2 none rw\n"
          "41 30 0:24 / /mnt/all rw - cgroup2 none rw\n"
          "42 30 0:24 /docker /mnt/docker rw - cgroup2 none rw\n",
          8},
         {{"/mnt/own/cpu.max", "400000 100000\n"},
          {"/mnt/all/docker/1/cpu.max", "400000 100000\n"},
          {"/mnt/all/docker/cpu.max", "200000 100000\n"},
          {"/mnt/docker/1/cpu.max", "400000 100000\n"},
          {"/mnt/docker/cpu.max", "200000 100000\n"}},
         {2, 2, "/mnt/all/docker", 2}},
	{"a mount that is covered up",
         {"0::/docker/1\n", V2_MOUNT "41 30 0:24 / /mnt/all rw - cgroup2 none rw\n", 8},
         {{"/mnt/all/docker/1/cpu.max", "400000 100000\n"}},
         {4, 4, "/mnt/all/docker/1", 2}},
	{"two mounts on one point: the later",
         {"0::/docker/1\n", V2_MOUNT "41 30 0:24 /docker/1 /sys/fs/cgroup rw - cgroup2 none rw\n",
          8},
         {{"/sys/fs/cgroup/cpu.max", "400000 100000\n"}},
         {4, 4, "/sys/fs/cgroup", 2}},
	{"many optional fields",
         {"0::/a\n",
          "31 30 0:24 / /sys/fs/cgroup rw shared:12 master:3 propagate_from:2 unbindable - "
          "cgroup2 - rw\n",
          8},
         {{"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/a", 2}},
	{"the source of a mount is not trusted",
         {"0::/a\n", "30 29 0:23 / /mnt rw - tmpfs cgroup2 rw\n" V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}, {"/mnt/a/cpu.max", "100000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup/a", 2}},
	{"a mount of another branch is passed over",
         {"0::/docker/12\n", "40 30 0:24 /docker/1 /mnt/other rw - cgroup2 none rw\n" V2_MOUNT, 8},
         {{"/mnt/other/cpu.max", "100000 100000\n"},
          {"/mnt/other2/cpu.max", "100000 100000\n"},
          {"/sys/fs/cgroup/docker/12/cpu.max", "300000 100000\n"}},
         {3, 3, "/sys/fs/cgroup/docker/12", 2}},
	{"only a mount of another branch",
         {"0::/docker/12\n", "40 30 0:24 /docker/1 /mnt/other rw - cgroup2 none rw\n", 8},
         {{"/mnt/other/cpu.max", "100000 100000\n"}},
         {8, INFINITY, "", 0, .warns = true}},
	{"no /proc/self/cgroup",
         {NULL, V2_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu.max", "100000 100000\n"}},
         {8, INFINITY, "", 0, .warns = true}},
	{"no /proc/self/mountinfo",
         {"0::/\n", NULL, 8},
         {{"/sys/fs/cgroup/cpu.max", "100000 100000\n"}},
         {8, INFINITY, "", 0, .warns = true}},
	{"a kernel without cgroups", {"", OTHER_MOUNTS, 8}, {{0}}, {8, INFINITY, "", 0}},
	{"weights and shares are no limits",
         {"4:cpu,cpuacct:/a\n", V1_MOUNT, 8},
         {{"/sys/fs/cgroup/cpu/a/cpu.shares", "512\n"},
          {"/sys/fs/cgroup/cpu/a/cpu.weight", "50\n"}},
         {8, INFINITY, "", 1}},
	{"a quota without period",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "100000\n"}},
         {1, 1, "/sys/fs/cgroup/a", 2}},
	{"max without period",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "max\n"}},
         {8, INFINITY, "", 2}},
	{"trailing garbage; the parent still counts",
         {"0::/p/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/p/a/cpu.max", "100000 100000 x\n"},
          {"/sys/fs/cgroup/p/cpu.max", "300000 100000\n"}},
         {3, 3, "/sys/fs/cgroup/p", 2, .warns = true}},
	{"an empty file",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", ""}},
         {8, INFINITY, "", 2, .warns = true}},
	{"a number over 64 bits",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "18446744073709551616 100000\n"}},
         {8, INFINITY, "", 2, .warns = true}},
	{"v2 period 0",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "100000 0\n"}},
         {8, INFINITY, "", 2, .warns = true}},
	{"a path over 256 bytes",
         {"0::" LONG_PATH "\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup" LONG_PATH "/cpu.max", "150000 100000\n"}},
         {2, 1.5, "/sys/fs/cgroup" LONG_PATH, 2}},
	{"bursts are not added",
         {"0::/a\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/a/cpu.max", "100000 100000\n"},
          {"/sys/fs/cgroup/a/cpu.max.burst", "100000\n"}},
         {1, 1, "/sys/fs/cgroup/a", 2}},
	{"a directory that is missing; its ancestors count",
         {"0::/p/gone/gone\n", V2_MOUNT, 8},
         {{"/sys/fs/cgroup/p/cpu.max", "300000 100000\n"}},
         {3, 3, "/sys/fs/cgroup/p", 2, .warns = true}},
};

static bool is_as_expected(const struct cpu_quota *quota, const struct row *row)
{
	return quota->usable == row->expect.usable && quota->quota_cpus == row->expect.quota_cpus &&
	       strcmp(quota->limited_by, row->expect.limited_by) == 0 &&
	       quota->cgroup == row->expect.cgroup &&
	       quota->affinity_cpus == row->process.affinity_cpus &&
	       !quota->warning == !row->expect.warns;
}

static bool check_row(const struct row *row)
{
	struct fixture fixture;
	bool is_right;

	start(&fixture, row->process.affinity_cpus);
	if (row->process.membership)
		write_file(&fixture, "/proc/self/cgroup", row->process.membership);
	if (row->process.mounts)
		write_file(&fixture, "/proc/self/mountinfo", row->process.mounts);
	for (const struct file *file = row->files; file->path; file++)
		write_file(&fixture, file->path, file->text);
	(void)read_usable(&fixture);
	is_right = is_as_expected(&fixture.quota, row);
	if (!is_right)
		print_error("%s: usable %u, quota %g, limited by '%s', version %d, warning '%s'\n",
		            row->name, fixture.quota.usable, fixture.quota.quota_cpus,
		            fixture.quota.limited_by, fixture.quota.cgroup,
		            fixture.quota.warning ? fixture.quota.warning : "");
	/* A second read comes to the same, and repeats no warning. */
	(void)read_usable(&fixture);
	is_right = is_right && fixture.quota.usable == row->expect.usable && !fixture.quota.warning;
	finish(&fixture);
	return is_right;
}

static void reads_every_kind_of_tree(void **state)
{
	unsigned mistakes = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		mistakes += !check_row(&rows[i]);
	assert_int_equal(mistakes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind_of_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
