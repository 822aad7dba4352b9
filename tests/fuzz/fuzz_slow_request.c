#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/slow_endpoint_request.h"
#include "tests/fuzz/fuzz.h"

/* Heads as the slow endpoint reads them, whole and in two pieces. */

static void parse(const char *data, size_t length)
{
	struct slow_request request;
	/* A block of just that size: a sanitizer sees a read beyond it. */
	char *head = malloc(length);

	assert(head);
	memcpy(head, data, length);
	slow_request_parse(&request, head, length);
	assert((request.route == SLOW_ROUTE_REFUSED) == (request.refused_status != 0));
	assert(!request.unframed || !request.keep_alive);
	assert(request.content_bytes <= SLOW_CONTENT_MAX_BYTES);
	free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *data = (const char *)bytes;
	size_t scanned = 0;
	ssize_t whole = slow_request_head_length(data, size, &scanned);
	ssize_t pieces;

	scanned = 0;
	pieces = slow_request_head_length(data, size / 2, &scanned);
	if (pieces == 0)
		pieces = slow_request_head_length(data, size, &scanned);
	assert(pieces == whole);
	if (whole > 0)
		parse(data, (size_t)whole);
	return 0;
}
