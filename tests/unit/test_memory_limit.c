#include "executors/memory_limit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/cgroup_tree.h"
#include "tests/with_cmocka.h"

#define V2_MOUNT "31 30 0:24 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                  \
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"             \
	"33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"               \
	"34 31 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
#define GROUPS "/sys/fs/cgroup"

struct fixture {
	struct cgroup_tree tree;
	struct memory_limit_reader *reader;
	struct memory_limit limit;
};

static void start(struct fixture *fixture)
{
	cgroup_tree_init(&fixture->tree);
	assert_int_equal(memory_limit_reader_create(fixture->tree.root, &fixture->reader), 0);
}

static void finish(struct fixture *fixture)
{
	memory_limit_reader_destroy(fixture->reader);
	cgroup_tree_finish(&fixture->tree);
}

static void write_file(struct fixture *fixture, const char *path, const char *text)
{
	cgroup_tree_write(&fixture->tree, path, text);
}

static uint64_t read_bytes(struct fixture *fixture)
{
	assert_int_equal(memory_limit_read(fixture->reader, &fixture->limit), 0);
	return fixture->limit.limit_bytes;
}

/* Of a group and its parent, in version 2. */
static void start_version_2(struct fixture *fixture)
{
	start(fixture);
	write_file(fixture, "/proc/self/cgroup", "0::/p/a\n");
	write_file(fixture, "/proc/self/mountinfo", V2_MOUNT);
	write_file(fixture, GROUPS "/p/memory.max", "max\n");
	write_file(fixture, GROUPS "/p/memory.current", "9000000\n");
	write_file(fixture, GROUPS "/p/memory.stat", "anon 1\nactive_file 0\ninactive_file 0\n");
	write_file(fixture, GROUPS "/p/a/memory.max", "67108864\n");
	write_file(fixture, GROUPS "/p/a/memory.current", "5000000\n");
	write_file(fixture, GROUPS "/p/a/memory.stat",
	           "anon 1\nfile 9\ninactive_file 1500000\nactive_file 500000\nslab 7\n");
}

static void reads_the_limit_and_what_files_do_not_give_back(void **state)
{
	struct fixture fixture;
	char text[16];
	int fd;

	(void)state;
	start_version_2(&fixture);
	assert_int_equal(read_bytes(&fixture), 67108864);
	assert_int_equal(fixture.limit.used_bytes, 3000000);
	assert_int_equal(fixture.limit.file_bytes, 2000000);
	fd = memory_limit_open_usage(fixture.reader);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), strlen("5000000\n"));
	assert_memory_equal(text, "5000000\n", strlen("5000000\n"));
	close(fd);
	assert_int_equal(fixture.limit.cgroup, 2);
	assert_string_equal(fixture.limit.limited_by, "/sys/fs/cgroup/p/a");
	finish(&fixture);
}

static void the_smallest_limit_of_all_ancestors_counts(void **state)
{
	struct fixture fixture;

	(void)state;
	start_version_2(&fixture);
	write_file(&fixture, GROUPS "/p/memory.max", "50000000\n");
	assert_int_equal(read_bytes(&fixture), 50000000);
	assert_int_equal(fixture.limit.used_bytes, 9000000);
	assert_string_equal(fixture.limit.limited_by, "/sys/fs/cgroup/p");
	write_file(&fixture, GROUPS "/p/memory.max", "67108864\n");
	assert_int_equal(read_bytes(&fixture), 67108864);
	assert_string_equal(fixture.limit.limited_by, "/sys/fs/cgroup/p/a");
	finish(&fixture);
}

static void follows_a_limit_that_changes_and_a_process_that_moves(void **state)
{
	struct fixture fixture;

	(void)state;
	start_version_2(&fixture);
	write_file(&fixture, GROUPS "/p/a/memory.max", "max\n");
	assert_true(read_bytes(&fixture) == UINT64_MAX);
	assert_string_equal(fixture.limit.limited_by, "");
	assert_int_equal(memory_limit_open_usage(fixture.reader), -ENOENT);
	assert_int_equal(fixture.limit.used_bytes, 0);
	write_file(&fixture, GROUPS "/b/memory.max", "1000\n");
	write_file(&fixture, GROUPS "/b/memory.current", "10\n");
	write_file(&fixture, GROUPS "/b/memory.stat", "");
	write_file(&fixture, "/proc/self/cgroup", "0::/b\n");
	assert_int_equal(read_bytes(&fixture), 1000);
	finish(&fixture);
}

static void version_1_has_a_hierarchy_of_its_own_for_memory(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture);
	write_file(&fixture, "/proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/c\n0::/u\n");
	write_file(&fixture, "/proc/self/mountinfo", V1_MOUNTS);
	write_file(&fixture, GROUPS "/memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file(&fixture, GROUPS "/memory/m/memory.limit_in_bytes", "67108864\n");
	write_file(&fixture, GROUPS "/memory/m/memory.usage_in_bytes", "4000\n");
	write_file(&fixture, GROUPS "/memory/m/memory.stat",
	           "inactive_file 9\ntotal_inactive_file 1000\ntotal_active_file 500\n");
	assert_int_equal(read_bytes(&fixture), 67108864);
	assert_int_equal(fixture.limit.used_bytes, 2500);
	assert_int_equal(fixture.limit.cgroup, 1);
	assert_string_equal(fixture.limit.limited_by, "/sys/fs/cgroup/memory/m");
	write_file(&fixture, GROUPS "/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(read_bytes(&fixture) == UINT64_MAX);
	finish(&fixture);
}

static void no_controller_is_no_limit(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture);
	write_file(&fixture, "/proc/self/cgroup", "");
	write_file(&fixture, "/proc/self/mountinfo", "");
	assert_true(read_bytes(&fixture) == UINT64_MAX);
	assert_int_equal(fixture.limit.cgroup, 0);
	write_file(&fixture, "/proc/self/cgroup", "0::/\n");
	write_file(&fixture, "/proc/self/mountinfo", V2_MOUNT);
	write_file(&fixture, GROUPS "/cgroup.procs", ""); /* but no memory.max */
	assert_true(read_bytes(&fixture) == UINT64_MAX);
	assert_int_equal(fixture.limit.cgroup, 2);
	finish(&fixture);
}

static void what_cannot_be_read_leaves_the_last_limit(void **state)
{
	struct fixture fixture;

	(void)state;
	start_version_2(&fixture);
	assert_int_equal(read_bytes(&fixture), 67108864);
	write_file(&fixture, GROUPS "/p/a/memory.max", "many\n");
	assert_int_equal(memory_limit_read(fixture.reader, &fixture.limit), -EINVAL);
	assert_int_equal(fixture.limit.limit_bytes, 67108864);
	cgroup_tree_remove(&fixture.tree, "/proc/self/cgroup");
	assert_int_equal(memory_limit_read(fixture.reader, &fixture.limit), -ENOENT);
	assert_int_equal(fixture.limit.limit_bytes, 67108864);
	finish(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_limit_and_what_files_do_not_give_back),
		cmocka_unit_test(the_smallest_limit_of_all_ancestors_counts),
		cmocka_unit_test(follows_a_limit_that_changes_and_a_process_that_moves),
		cmocka_unit_test(version_1_has_a_hierarchy_of_its_own_for_memory),
		cmocka_unit_test(no_controller_is_no_limit),
		cmocka_unit_test(what_cannot_be_read_leaves_the_last_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
