#include "handlers/utf8.h"

#include <stdint.h>
#include <string.h>

/* How many bytes follow the first of a character, and what the second may be: Unicode 15, table
 * 3-7. */
struct lead {
	unsigned rest;
	unsigned char second_min, second_max;
};

static struct lead lead_of(unsigned char byte)
{
	if (byte >= 0xC2 && byte <= 0xDF)
		return (struct lead){1, 0x80, 0xBF};
	if (byte >= 0xE0 && byte <= 0xEF)
		return (struct lead){2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
	if (byte >= 0xF0 && byte <= 0xF4)
		return (struct lead){3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
	return (struct lead){0};
}

/* The length of the character, of more than one byte, at the start of @text; 0: it is none. */
static size_t wide_character(const unsigned char *text, size_t length)
{
	struct lead lead = lead_of(text[0]);

	if (lead.rest == 0 || lead.rest >= length)
		return 0;
	if (text[1] < lead.second_min || text[1] > lead.second_max)
		return 0;
	for (unsigned i = 2; i <= lead.rest; i++)
		if ((text[i] & 0xC0) != 0x80)
			return 0;
	return lead.rest + 1;
}

static bool is_ascii_word(const unsigned char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return (word & UINT64_C(0x8080808080808080)) == 0;
}

bool utf8_is_valid(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0;

	while (at < length) {
		size_t step = 1;

		if (length - at >= 8 && is_ascii_word(bytes + at))
			step = 8;
		else if (bytes[at] >= 0x80)
			step = wide_character(bytes + at, length - at);
		if (step == 0)
			return false;
		at += step;
	}
	return true;
}
