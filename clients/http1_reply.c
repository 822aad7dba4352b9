#include "clients/http1_reply.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "clients/http1_fields.h"
#include "executors/decimal.h"

/* A value without the white space around it. */
struct text {
	const char *at;
	size_t length;
};

/* What a head says of framing. */
struct framing {
	bool is_1_0;
	bool has_length;
	bool is_chunked;
	bool says_close, says_keep_alive;
	size_t length; /* SIZE_MAX: more than fits */
};

static struct text trim(struct text text)
{
	while (text.length > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.length--;
	}
	while (text.length > 0 &&
	       (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t'))
		text.length--;
	return text;
}

static bool is_word(struct text text, const char *word)
{
	return text.length == strlen(word) && strncasecmp(text.at, word, text.length) == 0;
}

static bool is_named(const struct phr_header *header, const char *name)
{
	return is_word((struct text){header->name, header->name_len}, name);
}

/* The length of a head that ends in @bytes, its empty line included; 0 if its end is missing.
 * Nothing ends before @scanned. */
static size_t find_head_end(const char *bytes, size_t length, size_t scanned)
{
	const char *end = bytes + length, *at = bytes + (scanned > 2 ? scanned - 2 : 0);

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		if (end - at >= 1 && at[0] == '\n')
			return (size_t)(at - bytes) + 1;
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
			return (size_t)(at - bytes) + 2;
	}
	return 0;
}

static const char version[] = "HTTP/1.";

static bool may_be_http(const char *bytes, size_t length)
{
	size_t compared = strlen(version) < length ? strlen(version) : length;

	return memcmp(bytes, version, compared) == 0;
}

/* "HTTP/1.1 200 OK": in a whole head. Returns the length of the line, 0: malformed. */
static size_t read_status_line(const char *head, size_t length, int *status, bool *is_1_0)
{
	const char *line_end = memchr(head, '\n', length);
	size_t line_bytes = line_end ? (size_t)(line_end - head) + 1 : 0;
	const char *digits = head + strlen("HTTP/1.x "), *reason = digits + 3;

	if (line_bytes < strlen("HTTP/1.x nnn\n") || !may_be_http(head, length))
		return 0;
	if ((head[7] != '0' && head[7] != '1') || head[8] != ' ')
		return 0;
	for (int i = 0; i < 3; i++)
		if (digits[i] < '0' || digits[i] > '9')
			return 0;
	*is_1_0 = head[7] == '0';
	*status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');

	if (line_end[-1] == '\r')
		line_end--;
	if (reason < line_end && *reason != ' ')
		return 0;
	for (; reason < line_end; reason++)
		if (((unsigned char)*reason < ' ' && *reason != '\t') || *reason == 0x7f)
			return 0;
	return *status >= 100 ? line_bytes : 0;
}

static const char *read_length(struct framing *framing, struct text value)
{
	uint64_t length;

	if (framing->has_length)
		return "Content-Length is given twice";
	framing->has_length = true;
	for (size_t i = 0; i < value.length; i++)
		if (value.at[i] < '0' || value.at[i] > '9')
			return "Content-Length is not a number";
	if (value.length == 0)
		return "Content-Length is not a number";
	framing->length = decimal_read(value.at, value.length, &length) ? length : SIZE_MAX;
	return NULL;
}

static void read_connection(struct framing *framing, struct text value)
{
	while (value.length > 0) {
		const char *comma = memchr(value.at, ',', value.length);
		size_t length = comma ? (size_t)(comma - value.at) : value.length;
		struct text word = trim((struct text){value.at, length});

		framing->says_close |= is_word(word, "close");
		framing->says_keep_alive |= is_word(word, "keep-alive");
		length += comma != NULL;
		value.at += length;
		value.length -= length;
	}
}

/* By the lengths of their names, since most fields are none of these. Returns a fault or NULL. */
static const char *read_field(struct framing *framing, const struct phr_header *header)
{
	struct text value = trim((struct text){header->value, header->value_len});

	if (!header->name)
		return "a folded header line";
	switch (header->name_len) {
	case sizeof("Connection") - 1:
		if (is_named(header, "Connection"))
			read_connection(framing, value);
		return NULL;
	case sizeof("Content-Length") - 1:
		return is_named(header, "Content-Length") ? read_length(framing, value) : NULL;
	case sizeof("Transfer-Encoding") - 1:
		if (!is_named(header, "Transfer-Encoding"))
			return NULL;
		if (framing->is_chunked || !is_word(value, "chunked"))
			return "Transfer-Encoding is not just chunked";
		framing->is_chunked = true;
		return NULL;
	default:
		return NULL;
	}
}

static const char *read_fields(struct framing *framing, const struct phr_header *headers,
                               size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *fault = read_field(framing, &headers[i]);

		if (fault)
			return fault;
	}
	if (framing->is_chunked && framing->has_length)
		return "Content-Length beside Transfer-Encoding";
	if (framing->is_chunked && framing->is_1_0)
		return "Transfer-Encoding in HTTP/1.0";
	return NULL;
}

static enum http1_verdict malformed(struct http1_reply *reply, const char *fault)
{
	reply->fault = fault;
	return HTTP1_MALFORMED;
}

/* RFC 9112, 6.3. */
static enum http1_verdict begin_body(struct http1_reply *reply, const struct framing *framing)
{
	reply->keep_alive = !framing->says_close && (!framing->is_1_0 || framing->says_keep_alive);
	if (reply->is_to_head || reply->status == 204 || reply->status == 304) {
		reply->part = HTTP1_PART_OVER;
	} else if (framing->is_chunked) {
		reply->part = HTTP1_PART_CHUNKED;
	} else if (framing->has_length) {
		if (framing->length > reply->max_body_bytes)
			return HTTP1_TOO_LARGE;
		reply->length = framing->length;
		reply->part = framing->length > 0 ? HTTP1_PART_COUNTED : HTTP1_PART_OVER;
	} else {
		reply->part = HTTP1_PART_TO_END;
		reply->keep_alive = false;
	}
	return HTTP1_MORE;
}

/* False: the head alone is more than may come. */
static bool count_fields(struct http1_reply *reply, const struct phr_header *headers, size_t count)
{
	size_t bytes;

	reply->field_count = count;
	if (!reply->counts_fields)
		return true;
	bytes = http1_fields_bytes(headers, count);
	if (bytes > reply->max_body_bytes)
		return false;
	reply->max_body_bytes -= bytes;
	return true;
}

static enum http1_verdict pass_over_interim(struct http1_reply *reply)
{
	if (reply->status == 101)
		return malformed(reply, "it switches protocols unasked");
	if (++reply->interim > HTTP1_INTERIM_MAX)
		return malformed(reply, "too many interim replies");
	return HTTP1_MORE;
}

static enum http1_verdict read_head(struct http1_reply *reply, const char *bytes, size_t length,
                                    struct phr_header *headers, size_t *used)
{
	size_t head_bytes = find_head_end(bytes, length, reply->scanned), line_bytes;
	size_t count = HTTP1_HEADERS_MAX;
	struct framing framing = {0};
	const char *fault;
	int fields_bytes;

	if (!may_be_http(bytes, length))
		return malformed(reply, "not HTTP/1");
	if (head_bytes > HTTP1_HEAD_MAX_BYTES || (!head_bytes && length >= HTTP1_HEAD_MAX_BYTES))
		return malformed(reply, "its head is too long");
	reply->scanned = head_bytes ? 0 : length;
	if (!head_bytes)
		return HTTP1_MORE;

	line_bytes = read_status_line(bytes, head_bytes, &reply->status, &framing.is_1_0);
	if (!line_bytes)
		return malformed(reply, "its status line is malformed");
	fields_bytes =
		phr_parse_headers(bytes + line_bytes, head_bytes - line_bytes, headers, &count, 0);
	if (fields_bytes < 0 || line_bytes + (size_t)fields_bytes != head_bytes)
		return malformed(reply, "its header is malformed, or has too many fields");
	fault = read_fields(&framing, headers, count);
	if (fault)
		return malformed(reply, fault);
	*used += head_bytes;
	if (reply->status < 200)
		return pass_over_interim(reply);
	return count_fields(reply, headers, count) ? begin_body(reply, &framing) : HTTP1_TOO_LARGE;
}

static enum http1_verdict read_chunks(struct http1_reply *reply, struct http1_piece *piece,
                                      size_t length)
{
	size_t used;
	enum http1_chunks_result result =
		http1_chunks_read(&reply->chunks, piece->body, length, &piece->body_bytes, &used);

	if (result == HTTP1_CHUNKS_MALFORMED)
		return malformed(reply, "its chunks are malformed");
	piece->used += used;
	reply->body_bytes += piece->body_bytes;
	if (reply->body_bytes > reply->max_body_bytes ||
	    reply->chunks.left > reply->max_body_bytes - reply->body_bytes)
		return HTTP1_TOO_LARGE;
	if (result == HTTP1_CHUNKS_WHOLE)
		reply->part = HTTP1_PART_OVER;
	return HTTP1_MORE;
}

static enum http1_verdict read_body(struct http1_reply *reply, struct http1_piece *piece,
                                    size_t length)
{
	switch (reply->part) {
	case HTTP1_PART_CHUNKED:
		return read_chunks(reply, piece, length);
	case HTTP1_PART_COUNTED:
		if (length > reply->length - reply->body_bytes)
			length = reply->length - reply->body_bytes;
		break;
	case HTTP1_PART_TO_END:
		if (length > reply->max_body_bytes - reply->body_bytes)
			return HTTP1_TOO_LARGE;
		break;
	case HTTP1_PART_HEAD:
	case HTTP1_PART_OVER:
		return HTTP1_MORE;
	}
	piece->body_bytes = length;
	piece->used += length;
	reply->body_bytes += length;
	if (reply->part == HTTP1_PART_COUNTED && reply->body_bytes == reply->length)
		reply->part = HTTP1_PART_OVER;
	return HTTP1_MORE;
}

enum http1_verdict http1_reply_read(struct http1_reply *reply, char *bytes, size_t length,
                                    struct phr_header *headers, struct http1_piece *piece)
{
	enum http1_verdict verdict = HTTP1_MORE;

	*piece = (struct http1_piece){0};
	while (verdict == HTTP1_MORE && reply->part == HTTP1_PART_HEAD) {
		size_t before = piece->used;

		verdict = read_head(reply, bytes + before, length - before, headers, &piece->used);
		if (piece->used == before)
			return verdict;
	}
	piece->body = bytes + piece->used;
	if (verdict == HTTP1_MORE)
		verdict = read_body(reply, piece, length - piece->used);
	return verdict == HTTP1_MORE && reply->part == HTTP1_PART_OVER ? HTTP1_WHOLE : verdict;
}

bool http1_reply_ends(struct http1_reply *reply)
{
	if (reply->part == HTTP1_PART_TO_END)
		reply->part = HTTP1_PART_OVER;
	return reply->part == HTTP1_PART_OVER;
}
