#include "handlers/json_arena.h"

#include <stdalign.h>
#include <stdlib.h>

enum { FIRST_BLOCK_BYTES = 4096, LARGEST_BLOCK_BYTES = 256 << 10 };

struct json_arena_block {
	struct json_arena_block *next;
	size_t used, room; /* bytes of @memory */
	alignas(max_align_t) char memory[];
};

/* Of the json_arena_load() that is under way on this thread; NULL: none is. */
static _Thread_local struct json_arena *filling;

/* As much again as there is already, within bounds, so that there are few. */
static struct json_arena_block *add_block(struct json_arena *arena, size_t least)
{
	size_t room = arena->bytes < FIRST_BLOCK_BYTES     ? FIRST_BLOCK_BYTES
	              : arena->bytes > LARGEST_BLOCK_BYTES ? LARGEST_BLOCK_BYTES
	                                                   : arena->bytes;
	struct json_arena_block *block;

	if (room < least)
		room = least;
	block = malloc(sizeof(*block) + room);
	if (!block)
		return NULL;
	*block = (struct json_arena_block){.next = arena->blocks, .room = room};
	arena->blocks = block;
	arena->bytes += sizeof(*block) + room;
	return block;
}

static void *allocate(size_t bytes)
{
	struct json_arena *arena = filling;
	size_t aligned = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct json_arena_block *block;
	void *memory;

	if (!arena)
		return malloc(bytes);
	if (aligned < bytes)
		return NULL;
	block = arena->blocks;
	if (!block || block->room - block->used < aligned)
		block = add_block(arena, aligned);
	if (!block)
		return NULL;
	memory = block->memory + block->used;
	block->used += aligned;
	return memory;
}

/* What a parser gives back it has got in the same json_arena_load(). */
static void release(void *memory)
{
	if (!filling)
		free(memory);
}

void json_arena_install(void)
{
	json_set_alloc_funcs(allocate, release);
}

const json_t *json_arena_load(struct json_arena *arena, const char *text, size_t length,
                              size_t flags, json_error_t *error)
{
	json_malloc_t allocate_now;
	json_free_t release_now;

	*arena = (struct json_arena){0};
	json_get_alloc_funcs(&allocate_now, &release_now);
	if (allocate_now == allocate)
		filling = arena;
	arena->tree = json_loadb(text, length, flags, error);
	filling = NULL;
	if (!arena->tree)
		json_arena_finish(arena);
	return arena->tree;
}

void json_arena_finish(struct json_arena *arena)
{
	struct json_arena_block *block = arena->blocks;

	if (!block)
		json_decref(arena->tree);
	while (block) {
		struct json_arena_block *next = block->next;

		free(block);
		block = next;
	}
	*arena = (struct json_arena){0};
}
