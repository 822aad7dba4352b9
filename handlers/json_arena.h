#ifndef HANDLERS_JSON_ARENA_H
#define HANDLERS_JSON_ARENA_H

#include <jansson.h>
#include <stddef.h>

/*
 * A tree of JSON in a few blocks of memory: jansson asks for ten pieces for each object
 * of two members, and freeing them one by one costs as much again. For trees that
 * are read for a while and then go as a whole.
 *
 * It stands under jansson as its allocator (json_set_alloc_funcs()), which is of the whole process,
 * and hands all requests on to malloc() but for those of a json_arena_load() on the same thread. A
 * parser does not wait, so that is one and the same task.
 */
struct json_arena_block;

struct json_arena {
	struct json_arena_block
		*blocks; /* owned; newest first. NULL: the tree is one like others */
	size_t bytes;    /* of all blocks */
	json_t *tree;    /* owned */
};

/** Once, before other threads use jansson. Without it trees are made as always. */
void json_arena_install(void);

/**
 * What json_loadb() does; the tree is the arena's, until json_arena_finish(). It may be read, on
 * several threads as well, but neither changed nor given to json_incref() or json_decref().
 *
 * @arena need not be initialized. Returns NULL with @error filled in, and nothing to finish. Any
 * thread.
 */
const json_t *json_arena_load(struct json_arena *arena, const char *text, size_t length,
                              size_t flags, json_error_t *error);

/** Fine on a zeroed one, and twice. */
void json_arena_finish(struct json_arena *arena);

#endif
