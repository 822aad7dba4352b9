#include "server/slow_endpoint_answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clients/http_status.h"

static const char garbage[] = "\x16\x03\x01 this is not HTTP \xff\xfe\r\n\r\n";
static const char last_chunk[] = "0\r\n\r\n";

enum {
	FULL_CHUNK_HEAD_BYTES = sizeof("10000\r\n") - 1,
	FULL_CHUNK_BYTES = FULL_CHUNK_HEAD_BYTES + SLOW_PATTERN_BYTES + 2,
};

_Static_assert(SLOW_PATTERN_BYTES == 0x10000, "the head of a full chunk is 10000 CR LF");

void slow_pattern_fill(char pattern[SLOW_PATTERN_BYTES])
{
	for (size_t i = 0; i < SLOW_PATTERN_BYTES; i++)
		pattern[i] = i % 2 == 0 ? 'o' : 'k';
}

/* 204 and 304 end with their head (RFC 9110 6.4.1). */
static bool has_body(const struct slow_answer *answer)
{
	return answer->status != 204 && answer->status != 304;
}

/* Who follows it is answered, and so is found out. */
static bool is_redirect(const struct slow_answer *answer)
{
	return answer->status / 100 == 3 && answer->status != 304;
}

static bool is_chunked(const struct slow_answer *answer)
{
	return answer->chunked && !answer->http_1_0 && !answer->text;
}

__attribute__((format(printf, 3, 4))) static size_t append(char head[SLOW_ANSWER_HEAD_BYTES],
                                                           size_t length, const char *format, ...)
{
	va_list arguments;
	int added;

	va_start(arguments, format);
	added = vsnprintf(head + length, SLOW_ANSWER_HEAD_BYTES - length, format, arguments);
	va_end(arguments);
	assert(added >= 0 && (size_t)added < SLOW_ANSWER_HEAD_BYTES - length);
	return length + (size_t)added;
}

size_t slow_answer_head(const struct slow_answer *answer, char head[SLOW_ANSWER_HEAD_BYTES])
{
	size_t length;

	if (answer->is_garbage) {
		memcpy(head, garbage, sizeof(garbage) - 1);
		return sizeof(garbage) - 1;
	}
	length = append(head, 0, "HTTP/1.1 %u %s\r\n", answer->status,
	                http_status_phrase(answer->status));
	if (has_body(answer) && is_chunked(answer))
		length = append(head, length, "Content-Type: %s\r\nTransfer-Encoding: chunked\r\n",
		                answer->content_type);
	else if (has_body(answer))
		length = append(head, length, "Content-Type: %s\r\nContent-Length: %" PRIu64 "\r\n",
		                answer->content_type, answer->body_bytes);
	if (answer->allow)
		length = append(head, length, "Allow: %s\r\n", answer->allow);
	if (answer->retry_after > 0)
		length = append(head, length, "Retry-After: %u\r\n", answer->retry_after);
	if (is_redirect(answer))
		length = append(head, length, "Location: /stats\r\n");
	if (!answer->keep_alive)
		length = append(head, length, "Connection: close\r\n");
	else if (answer->http_1_0)
		length = append(head, length, "Connection: keep-alive\r\n");
	return append(head, length, "\r\n");
}

/* "1f\r\n", the line before a chunk of @bytes. */
static size_t chunk_head(char out[16], uint64_t bytes)
{
	int length = snprintf(out, 16, "%" PRIx64 "\r\n", bytes);

	assert(length > 0 && length < 16);
	return (size_t)length;
}

uint64_t slow_answer_tail_bytes(const struct slow_answer *answer)
{
	uint64_t rest = answer->body_bytes % SLOW_PATTERN_BYTES;
	uint64_t bytes;
	char head[16];

	if (answer->is_garbage || answer->omits_body || !has_body(answer))
		return 0;
	if (!is_chunked(answer))
		return answer->body_bytes;
	bytes = answer->body_bytes / SLOW_PATTERN_BYTES * FULL_CHUNK_BYTES + sizeof(last_chunk) - 1;
	if (rest > 0)
		bytes += chunk_head(head, rest) + rest + 2;
	return bytes;
}

/* Nothing but what is left of it once the first @out->skip bytes of the list are left out. */
static void add(struct slow_pieces *out, const char *data, uint64_t bytes)
{
	if (out->skip >= bytes) {
		out->skip -= bytes;
		return;
	}
	assert(out->count < SLOW_PIECES);
	out->pieces[out->count++] =
		(struct iovec){(char *)data + out->skip, (size_t)(bytes - out->skip)};
	out->skip = 0;
}

static void add_plain(const struct slow_answer *answer, const char *pattern,
                      struct slow_pieces *out)
{
	uint64_t start = out->skip / SLOW_PATTERN_BYTES * SLOW_PATTERN_BYTES;
	uint64_t left;

	if (start >= answer->body_bytes)
		return;
	left = answer->body_bytes - start;
	out->skip -= start;
	add(out, pattern, left < SLOW_PATTERN_BYTES ? left : SLOW_PATTERN_BYTES);
}

static void add_chunk(const struct slow_answer *answer, const char *pattern,
                      struct slow_pieces *out)
{
	uint64_t full_chunks = answer->body_bytes / SLOW_PATTERN_BYTES;
	uint64_t chunk = out->skip / FULL_CHUNK_BYTES;
	uint64_t payload = SLOW_PATTERN_BYTES;

	if (chunk >= full_chunks) {
		chunk = full_chunks;
		payload = answer->body_bytes % SLOW_PATTERN_BYTES;
	}
	out->skip -= chunk * FULL_CHUNK_BYTES;
	if (payload > 0) {
		add(out, out->chunk_head, chunk_head(out->chunk_head, payload));
		add(out, pattern, payload);
		add(out, "\r\n", 2);
	}
	if (chunk == full_chunks)
		add(out, last_chunk, sizeof(last_chunk) - 1);
}

void slow_answer_pieces(const struct slow_answer *answer, const char *head, size_t head_bytes,
                        const char *pattern, uint64_t at, struct slow_pieces *out)
{
	out->count = 0;
	out->skip = at;
	add(out, head, head_bytes);
	if (slow_answer_tail_bytes(answer) == 0)
		return;
	if (answer->text)
		add(out, answer->text, answer->body_bytes);
	else if (is_chunked(answer))
		add_chunk(answer, pattern, out);
	else
		add_plain(answer, pattern, out);
}
