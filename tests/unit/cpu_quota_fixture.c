#include "tests/unit/cpu_quota_fixture.h"

#include "tests/with_cmocka.h"

void start(struct fixture *fixture, unsigned affinity_cpus)
{
	cgroup_tree_init(&fixture->tree);
	assert_int_equal(
		cpu_quota_reader_create(fixture->tree.root, affinity_cpus, &fixture->reader), 0);
}

void finish(struct fixture *fixture)
{
	cpu_quota_reader_destroy(fixture->reader);
	cgroup_tree_finish(&fixture->tree);
}

void write_file(struct fixture *fixture, const char *path, const char *text)
{
	cgroup_tree_write(&fixture->tree, path, text);
}

unsigned read_usable(struct fixture *fixture)
{
	cpu_quota_read(fixture->reader, &fixture->quota);
	return fixture->quota.usable;
}
