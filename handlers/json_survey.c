#include "handlers/json_survey.h"

/* What jansson 2.14 allocates, allocator's overhead included, on 64 bits: an object with its
 * first eight buckets; an array with its first eight places; any value with its place in the
 * latter; a member with its share of larger tables. Texts come on top. */
enum { OBJECT_BYTES = 256, ARRAY_BYTES = 144, VALUE_BYTES = 96, MEMBER_BYTES = 128 };

size_t json_string_end(const char *text, size_t at, size_t end)
{
	for (at++; at < end; at++) {
		if (text[at] == '"')
			return at + 1;
		at += text[at] == '\\';
	}
	return end;
}

struct json_survey json_survey(const char *text, size_t length)
{
	struct json_survey survey = {.tree_bytes = VALUE_BYTES + length};
	size_t depth = 0, at = 0;

	while (at < length) {
		char byte = text[at];

		if (byte == '"') {
			at = json_string_end(text, at, length);
			continue;
		}
		if (byte == '{' || byte == '[') {
			/* Its first value has no comma. */
			survey.tree_bytes +=
				VALUE_BYTES + (byte == '{' ? OBJECT_BYTES : ARRAY_BYTES);
			if (++depth > survey.depth) {
				survey.depth = depth;
				survey.deepest_at = at;
			}
		}
		depth -= (byte == '}' || byte == ']') && depth > 0;
		survey.tree_bytes += byte == ',' ? VALUE_BYTES : byte == ':' ? MEMBER_BYTES : 0;
		at++;
	}
	return survey;
}
