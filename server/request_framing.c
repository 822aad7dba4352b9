#include "server/request_framing.h"

#include <stdbool.h>
#include <string.h>

#include "clients/span.h"

struct framing {
	unsigned content_lengths;
	unsigned transfer_encodings;
	unsigned hosts;
	bool not_chunked;
};

/* Take the next line, without its end, off @rest. False if there is no whole line. */
static bool next_line(struct span *rest, struct span *line)
{
	const char *end = rest->length == 0 ? NULL : memchr(rest->data, '\n', rest->length);

	if (end == NULL)
		return false;
	*line = (struct span){rest->data, (size_t)(end - rest->data)};
	rest->data = end + 1;
	rest->length -= line->length + 1;
	if (line->length > 0 && line->data[line->length - 1] == '\r')
		line->length--;
	return true;
}

static void count_header(struct framing *framing, struct span line)
{
	const char *colon = memchr(line.data, ':', line.length);

	if (colon == NULL)
		return;
	struct span name = {line.data, (size_t)(colon - line.data)};
	struct span value = span_trimmed((struct span){colon + 1, line.length - name.length - 1});

	if (span_is_any_case(name, "content-length"))
		framing->content_lengths++;
	else if (span_is_any_case(name, "host"))
		framing->hosts++;
	else if (span_is_any_case(name, "transfer-encoding")) {
		framing->transfer_encodings++;
		framing->not_chunked |= !span_is_any_case(value, "chunked");
	}
}

static const char *verdict(const struct framing *framing, bool http_1_0)
{
	if (framing->content_lengths > 1)
		return "more than one Content-Length";
	if (framing->content_lengths > 0 && framing->transfer_encodings > 0)
		return "Content-Length with Transfer-Encoding";
	if (framing->transfer_encodings > 1 || framing->not_chunked)
		return "a Transfer-Encoding other than chunked";
	if (http_1_0 && framing->transfer_encodings > 0)
		return "a Transfer-Encoding in HTTP/1.0";
	if (framing->hosts > 1)
		return "more than one Host";
	if (!http_1_0 && framing->hosts == 0)
		return "no Host";
	return NULL;
}

const char *request_framing_fault(const char *head, size_t bytes)
{
	struct span rest = {head, bytes};
	struct framing framing = {0};
	struct span line;

	/* One empty line before a request is allowed (RFC 9112 §2.2). */
	if (!next_line(&rest, &line) || (line.length == 0 && !next_line(&rest, &line)))
		return "no request line";
	bool http_1_0 = line.length >= 8 && memcmp(line.data + line.length - 8, "HTTP/1.0", 8) == 0;

	while (next_line(&rest, &line) && line.length > 0) {
		if (line.data[0] == ' ' || line.data[0] == '\t')
			return "a folded header line";
		if (memchr(line.data, '\r', line.length) != NULL)
			return "a CR without LF";
		count_header(&framing, line);
	}
	return verdict(&framing, http_1_0);
}
