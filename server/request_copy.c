#include "server/request_copy.h"

static h2o_iovec_t query_of(const h2o_req_t *request)
{
	if (request->query_at == SIZE_MAX)
		return h2o_iovec_init(NULL, 0);
	return h2o_iovec_init(request->path.base + request->query_at + 1,
	                      request->path.len - request->query_at - 1);
}

size_t request_copy_bytes(const h2o_req_t *request, bool with_body)
{
	/* Each text has a NUL, and the headers one more at their end. */
	size_t bytes = request->method.len + request->path_normalized.len + query_of(request).len +
	               (with_body ? request->entity.len : 0) + 5;

	for (size_t i = 0; i < request->headers.size; i++)
		bytes += request->headers.entries[i].name->len +
		         request->headers.entries[i].value.len + 2;
	return bytes;
}

static const char *copy_text(char **place, const char *text, size_t length)
{
	char *copy = *place;

	h2o_memcpy(copy, text, length);
	copy[length] = '\0';
	*place += length + 1;
	return copy;
}

static const char *copy_headers(char **place, const h2o_headers_t *headers)
{
	const char *copy = *place;

	for (size_t i = 0; i < headers->size; i++) {
		const h2o_header_t *header = &headers->entries[i];

		(void)copy_text(place, header->name->base, header->name->len);
		(void)copy_text(place, header->value.base, header->value.len);
	}
	*(*place)++ = '\0';
	return copy;
}

struct request request_copy(const h2o_req_t *request, bool with_body, char *memory)
{
	h2o_iovec_t method = request->method, path = request->path_normalized;
	h2o_iovec_t query = query_of(request);
	h2o_iovec_t body = with_body ? request->entity : h2o_iovec_init(NULL, 0);

	/* In the order in which they are evaluated: a list of initializers has none. */
	struct request copy = {.method = copy_text(&memory, method.base, method.len)};

	copy.path = copy_text(&memory, path.base, path.len);
	copy.query = copy_text(&memory, query.base, query.len);
	copy.headers = copy_headers(&memory, &request->headers);
	copy.body = copy_text(&memory, body.base, body.len);
	copy.body_len = body.len;
	return copy;
}
