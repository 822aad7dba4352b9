#ifndef TESTS_UNIT_CGROUP_TREE_H
#define TESTS_UNIT_CGROUP_TREE_H

/*
 * A directory that stands in for the root of /proc and /sys, filled by a test.
 * Every function asserts that it succeeds: test's own thread only.
 */
struct cgroup_tree {
	char root[64];
};

void cgroup_tree_init(struct cgroup_tree *tree);

/** Write @text to @path (from the root, "/proc/self/cgroup"), making directories on the way. */
void cgroup_tree_write(struct cgroup_tree *tree, const char *path, const char *text);

/** Remove the file or directory at @path with everything in it. */
void cgroup_tree_remove(struct cgroup_tree *tree, const char *path);

void cgroup_tree_finish(struct cgroup_tree *tree);

#endif
