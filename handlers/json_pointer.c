#include "handlers/json_pointer.h"

#include <string.h>

#include "handlers/json_survey.h"
#include "handlers/utf8.h"

enum { LEVELS = 64, MAX_DIGITS = 20 };

/* Room for @bytes more; or none any more. */
static bool has_room(struct json_pointer *pointer, size_t bytes)
{
	pointer->is_cut |= bytes >= sizeof(pointer->text) - pointer->length;
	return !pointer->is_cut;
}

void json_pointer_add_member(struct json_pointer *pointer, const char *key, size_t length)
{
	size_t escapes = 0;
	char *at;

	for (size_t i = 0; i < length; i++)
		escapes += key[i] == '~' || key[i] == '/';
	if (!has_room(pointer, 1 + length + escapes))
		return;
	at = pointer->text + pointer->length;
	*at++ = '/';
	for (size_t i = 0; i < length; i++) {
		if (key[i] == '~') {
			*at++ = '~';
			*at++ = '0';
		} else if (key[i] == '/') {
			*at++ = '~';
			*at++ = '1';
		} else {
			*at++ = key[i];
		}
	}
	*at = '\0';
	pointer->length = (size_t)(at - pointer->text);
}

void json_pointer_add_element(struct json_pointer *pointer, size_t index)
{
	char digits[MAX_DIGITS];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + index % 10);
		index /= 10;
	} while (index > 0);
	json_pointer_add_member(pointer, digits + first, sizeof(digits) - first);
}

/* An object or array that is open where the walk has got to. */
struct level {
	bool is_object;
	bool is_in_value; /* of an object: behind the colon */
	size_t index;     /* of an array's element */
	const char *key;  /* of an object's member, without quotes; NULL: none yet */
	size_t key_length;
};

/* The levels that are open, outermost first; those beyond LEVELS are only counted. */
struct walk {
	struct level levels[LEVELS];
	size_t depth;
};

static struct level *innermost(struct walk *walk)
{
	return walk->depth > 0 && walk->depth <= LEVELS ? &walk->levels[walk->depth - 1] : NULL;
}

static void open_level(struct walk *walk, bool is_object)
{
	if (walk->depth < LEVELS)
		walk->levels[walk->depth] = (struct level){.is_object = is_object};
	walk->depth++;
}

/* A key that is cut off is none yet. */
static size_t pass_string(struct walk *walk, const char *text, size_t at, size_t end)
{
	size_t after = json_string_end(text, at, end);
	bool is_whole = after > at + 1 && text[after - 1] == '"';
	struct level *level = innermost(walk);

	if (level && level->is_object && !level->is_in_value && is_whole) {
		level->key = text + at + 1;
		level->key_length = after - at - 2;
	}
	return after;
}

static void pass_comma(struct walk *walk)
{
	struct level *level = innermost(walk);

	if (!level)
		return;
	level->index++;
	level->is_in_value = false;
	level->key = NULL;
}

/* Past the token or byte at @at. Returns where the next begins. */
static size_t pass(struct walk *walk, const char *text, size_t at, size_t end)
{
	struct level *level = innermost(walk);

	switch (text[at]) {
	case '"':
		return pass_string(walk, text, at, end);
	case '{':
	case '[':
		open_level(walk, text[at] == '{');
		break;
	case '}':
	case ']':
		walk->depth -= walk->depth > 0;
		break;
	case ':':
		if (level)
			level->is_in_value = true;
		break;
	case ',':
		pass_comma(walk);
		break;
	default:
		break;
	}
	return at + 1;
}

static bool is_text(const char *key, size_t length)
{
	return utf8_is_valid(key, length) && !memchr(key, '\0', length);
}

void json_pointer_of_offset(const char *text, size_t offset, struct json_pointer *out)
{
	struct walk walk;
	size_t at = 0;

	walk.depth = 0;
	while (at < offset)
		at = pass(&walk, text, at, offset);
	*out = (struct json_pointer){0};
	for (size_t i = 0; i < walk.depth && i < LEVELS; i++) {
		const struct level *level = &walk.levels[i];

		if (!level->is_object)
			json_pointer_add_element(out, level->index);
		else if (level->key && is_text(level->key, level->key_length))
			json_pointer_add_member(out, level->key, level->key_length);
		else
			break;
	}
}
