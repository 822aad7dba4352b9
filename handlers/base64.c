#include "handlers/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four characters for one to three bytes. */
static void encode_group(const unsigned char *bytes, size_t count, char out[4])
{
	uint32_t bits = (uint32_t)bytes[0] << 16;

	bits |= count > 1 ? (uint32_t)bytes[1] << 8 : 0;
	bits |= count > 2 ? bytes[2] : 0;
	out[0] = alphabet[bits >> 18];
	out[1] = alphabet[bits >> 12 & 63];
	out[2] = out[3] = '=';
	if (count > 1)
		out[2] = alphabet[bits >> 6 & 63];
	if (count > 2)
		out[3] = alphabet[bits & 63];
}

void base64_append(struct text_buffer *buffer, const char *bytes, size_t count)
{
	enum { GROUPS = 64 };
	char text[GROUPS * 4];
	size_t used = 0;

	for (size_t at = 0; at < count; at += 3) {
		encode_group((const unsigned char *)bytes + at, count - at < 3 ? count - at : 3,
		             text + used);
		used += 4;
		if (used < sizeof(text))
			continue;
		text_buffer_append_bytes(buffer, text, used);
		used = 0;
	}
	text_buffer_append_bytes(buffer, text, used);
}

size_t base64_decoded_bytes(size_t length)
{
	return length / 4 * 3;
}

static int value_of(char character)
{
	const char *found = character ? strchr(alphabet, character) : NULL;

	return found ? (int)(found - alphabet) : -1;
}

/* @digits of four characters are not padding: 2 to 4. */
static int decode_group(const char *text, size_t digits, char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < digits ? value_of(text[i]) : 0;

		if (value < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)value;
	}
	if (bits & ((1u << 8 * (4 - digits)) - 1))
		return -EINVAL;
	for (size_t i = 0; i + 1 < digits; i++)
		out[i] = (char)(bits >> (16 - 8 * i));
	return 0;
}

int base64_decode(const char *text, size_t length, char *bytes, size_t *count)
{
	size_t padding = 0;

	if (length % 4 != 0)
		return -EINVAL;
	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	for (size_t at = 0; at < length; at += 4) {
		size_t digits = at + 4 == length ? 4 - padding : 4;

		if (decode_group(text + at, digits, bytes + at / 4 * 3))
			return -EINVAL;
	}
	*count = base64_decoded_bytes(length) - padding;
	return 0;
}
