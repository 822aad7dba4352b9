#include "tests/unit/cgroup_tree.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/with_cmocka.h"

static void full_path(const struct cgroup_tree *tree, const char *path, char full[PATH_MAX])
{
	assert_in_range(snprintf(full, PATH_MAX, "%s%s", tree->root, path), 1, PATH_MAX - 1);
}

void cgroup_tree_init(struct cgroup_tree *tree)
{
	const char *parent = getenv("TMPDIR");

	assert_in_range(snprintf(tree->root, sizeof(tree->root), "%s/cgroup-tree-XXXXXX",
	                         parent && strlen(parent) < 40 ? parent : "/tmp"),
	                1, sizeof(tree->root) - 1);
	assert_non_null(mkdtemp(tree->root));
}

void cgroup_tree_write(struct cgroup_tree *tree, const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	full_path(tree, path, full);
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0755); /* most exist; fopen() tells of any that does not */
		*slash = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

void cgroup_tree_remove(struct cgroup_tree *tree, const char *path)
{
	char full[PATH_MAX];

	full_path(tree, path, full);
	assert_int_equal(nftw(full, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void cgroup_tree_finish(struct cgroup_tree *tree)
{
	cgroup_tree_remove(tree, "");
}
