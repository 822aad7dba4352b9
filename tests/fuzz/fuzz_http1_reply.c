#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http1_fields.h"
#include "clients/http1_reply.h"
#include "tests/fuzz/fuzz.h"

/*
 * Replies as the http1 client reads them: the outcome is the same however the bytes
 * are cut into pieces. And chunks: what our decoder takes for a whole body is what
 * picohttpparser makes of it. The first byte says what the reply is to, and whether its
 * headers are kept: they are such as could be sent on.
 */

enum { FLAG_HEAD = 1, FLAG_SMALL = 2, FLAG_FIELDS = 4, SMALL_BYTES = 100, LARGE_BYTES = 1 << 20 };

struct outcome {
	enum http1_verdict verdict;
	struct http1_reply reply;
	size_t surplus; /* after HTTP1_WHOLE */
	char *body;
	size_t body_bytes;
	struct http_call call; /* with the headers */
};

static struct phr_header headers[HTTP1_HEADERS_MAX];

static void keep_body(struct outcome *outcome, const struct http1_piece *piece)
{
	if (piece->body_bytes == 0)
		return;
	outcome->body = realloc(outcome->body, outcome->body_bytes + piece->body_bytes);
	assert(outcome->body);
	memcpy(outcome->body + outcome->body_bytes, piece->body, piece->body_bytes);
	outcome->body_bytes += piece->body_bytes;
}

static void keep_fields(struct outcome *outcome)
{
	struct http_call *call = &outcome->call;

	assert(http1_fields_keep(headers, outcome->reply.field_count, call) == 0);
	http1_fields_note_retry_after(headers, outcome->reply.field_count, call);
	for (size_t i = 0; i < call->reply_header_count; i++)
		assert(http_header_is_valid(&call->reply_headers[i]));
}

/* Give the @held bytes of @buffer, in a block of just that size: a sanitizer sees a read beyond it.
 * Returns how many are held on to. */
static size_t give(struct outcome *outcome, char *buffer, size_t held)
{
	struct http1_piece piece;
	char *bytes = malloc(held);

	assert(bytes);
	memcpy(bytes, buffer, held);
	outcome->verdict = http1_reply_read(&outcome->reply, bytes, held, headers, &piece);
	if (outcome->verdict == HTTP1_MORE || outcome->verdict == HTTP1_WHOLE) {
		assert(piece.used <= held);
		if (outcome->reply.counts_fields && outcome->reply.part != HTTP1_PART_HEAD &&
		    !outcome->call.reply_headers)
			keep_fields(outcome);
		keep_body(outcome, &piece);
		held -= piece.used;
		memcpy(buffer, bytes + piece.used, held);
	}
	free(bytes);
	return held;
}

/* In pieces of at most @most bytes. */
static void read_in_pieces(struct outcome *outcome, uint8_t flags, const char *data, size_t length,
                           size_t most)
{
	static char buffer[HTTP1_HEAD_MAX_BYTES];
	size_t at = 0, held = 0;

	*outcome = (struct outcome){
		.reply = {.is_to_head = flags & FLAG_HEAD,
	                  .counts_fields = flags & FLAG_FIELDS,
	                  .max_body_bytes = flags & FLAG_SMALL ? SMALL_BYTES : LARGE_BYTES},
	};
	while (at < length && outcome->verdict == HTTP1_MORE) {
		size_t piece = sizeof(buffer) - held;

		if (piece > most)
			piece = most;
		if (piece > length - at)
			piece = length - at;
		assert(piece > 0); /* a head that fills the buffer is refused */
		memcpy(buffer + held, data + at, piece);
		at += piece;
		held = give(outcome, buffer, held + piece);
	}
	if (outcome->verdict == HTTP1_MORE && at == length && http1_reply_ends(&outcome->reply))
		outcome->verdict = HTTP1_WHOLE;
	outcome->surplus = held + length - at;
}

static bool is_refused(const struct outcome *outcome)
{
	return outcome->verdict == HTTP1_MALFORMED || outcome->verdict == HTTP1_TOO_LARGE;
}

static void check(const struct outcome *outcome)
{
	const struct http1_reply *reply = &outcome->reply;

	assert((outcome->verdict == HTTP1_MALFORMED) == (reply->fault != NULL));
	if (is_refused(outcome))
		return;
	assert(outcome->body_bytes == reply->body_bytes);
	assert(reply->body_bytes <= reply->max_body_bytes);
	if (outcome->verdict == HTTP1_WHOLE)
		assert(reply->status >= 200 && reply->status <= 999);
}

static bool has_body(const struct outcome *outcome, const char *body, size_t body_bytes)
{
	return outcome->body_bytes == body_bytes &&
	       (body_bytes == 0 || memcmp(outcome->body, body, body_bytes) == 0);
}

static bool ends_like(const struct outcome *one, const struct outcome *other)
{
	return one->surplus == other->surplus && one->reply.status == other->reply.status &&
	       one->reply.keep_alive == other->reply.keep_alive;
}

static bool has_same_headers(const struct http_call *one, const struct http_call *other)
{
	if (one->reply_header_count != other->reply_header_count)
		return false;
	for (size_t i = 0; i < one->reply_header_count; i++)
		if (strcmp(one->reply_headers[i].name, other->reply_headers[i].name) != 0 ||
		    strcmp(one->reply_headers[i].value, other->reply_headers[i].value) != 0)
			return false;
	return true;
}

static void compare(const struct outcome *one, const struct outcome *other)
{
	assert(is_refused(one) == is_refused(other));
	if (is_refused(one))
		return;
	assert(one->verdict == other->verdict);
	assert(has_body(one, other->body, other->body_bytes));
	assert(has_same_headers(&one->call, &other->call));
	assert(one->verdict != HTTP1_WHOLE || ends_like(one, other));
}

static void compare_chunks(const char *data, size_t length)
{
	struct phr_chunked_decoder decoder = {.consume_trailer = 1};
	struct http1_chunks chunks = {0};
	char *ours = malloc(length), *theirs = malloc(length);
	size_t our_bytes, their_bytes = length, used;

	assert(ours && theirs);
	memcpy(ours, data, length);
	memcpy(theirs, data, length);
	if (http1_chunks_read(&chunks, ours, length, &our_bytes, &used) == HTTP1_CHUNKS_WHOLE) {
		ssize_t rest = phr_decode_chunked(&decoder, theirs, &their_bytes);

		assert(rest >= 0 && (size_t)rest == length - used);
		assert(our_bytes == their_bytes && memcmp(ours, theirs, our_bytes) == 0);
	}
	free(ours);
	free(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 7, 1000};
	enum { CUTS = sizeof(pieces) / sizeof(pieces[0]) };
	struct outcome outcomes[CUTS];
	const char *data = (const char *)bytes + 1;

	if (size < 2)
		return 0;
	for (size_t i = 0; i < CUTS; i++) {
		read_in_pieces(&outcomes[i], bytes[0], data, size - 1, pieces[i]);
		check(&outcomes[i]);
		compare(&outcomes[0], &outcomes[i]);
	}
	for (size_t i = 0; i < CUTS; i++) {
		free(outcomes[i].body);
		http_call_finish(&outcomes[i].call);
	}
	compare_chunks(data, size - 1);
	return 0;
}
