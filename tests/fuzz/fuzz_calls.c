#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "clients/upstream_set.h"
#include "handlers/calls_graph.h"
#include "handlers/calls_plan.h"
#include "handlers/calls_reply.h"
#include "handlers/calls_request.h"
#include "handlers/json_arena.h"
#include "handlers/utf8.h"
#include "tests/fuzz/fuzz.h"

/*
 * Bodies of POST /fanout, up to the calls that would be made: what is refused has a place and
 * can be said, and the tree takes no more memory than was foreseen, in an arena or not. And bodies
 * as replies of services: whatever they are, what is made of them is JSON on one line.
 */

enum { MEMORY_BYTES = 64 << 20 };

/* What jansson has allocated. */
static size_t allocated;

static void *count_malloc(size_t bytes)
{
	void *memory = malloc(bytes);

	allocated += memory ? malloc_usable_size(memory) : 0;
	return memory;
}

static void count_free(void *memory)
{
	allocated -= memory ? malloc_usable_size(memory) : 0;
	free(memory);
}

/* Nothing is called: these are asked for their names alone. */
static const struct upstream_set *upstreams(void)
{
	static const struct http_client_ops ops = {.name = "none"};
	static struct http_client client = {&ops};
	static const struct http_header header = {"X-Key", "secret"};
	static const struct upstream_settings settings[] = {
		{.url = "http://one.example", .client = &client},
		{.name = "two",
	         .url = "http://two.example",
	         .headers = &header,
	         .header_count = 1,
	         .client = &client},
	};
	static struct upstream_set *set;
	size_t faulty;

	if (!set)
		assert(upstream_set_create(
			       &(struct upstream_set_options){.upstreams = settings, .count = 2},
			       &set, &faulty) == 0);
	return set;
}

static void check_violation(const struct calls_violation *violation)
{
	const struct json_pointer *pointer = &violation->pointer;
	struct response response = {0};

	assert(pointer->length == strlen(pointer->text));
	assert(pointer->length == 0 || pointer->text[0] == '/');
	assert(violation->detail[0]);
	calls_violation_respond(violation, &response);
	assert(response.status == 400);
	response_finish(&response);
}

static void check_url(const char *url)
{
	assert(url[0]);
	for (; *url; url++)
		assert(*url > ' ' && *url <= '~');
}

static void check_header(const struct http_header *header)
{
	assert(http_header_is_valid(header));
	assert(!http_header_is_reserved(header->name));
}

static void check_call(const struct calls_call *call)
{
	const struct http_call *made = &call->made;

	assert(made->method && made->timeout_ms > 0);
	assert(made->body || made->body_len == 0);
	check_url(made->url);
	for (size_t i = 0; i < call->header_count; i++)
		check_header(&call->headers[i]);
}

static int plan(const struct calls_request *request, struct calls_violation *violation)
{
	struct calls_planning planning = {.set = upstreams(),
	                                  .call_timeout_ms = 10000,
	                                  .max_reply_bytes = 1 << 20,
	                                  .memory_bytes = MEMORY_BYTES};
	struct calls_graph graph;
	struct calls_plan made;
	int error = calls_graph_build(request, &graph, violation);

	if (error)
		return error;
	calls_graph_finish(&graph);
	error = calls_plan_make(request, &planning, &made, violation);
	if (error)
		return error;
	assert(made.count == request->count);
	for (size_t i = 0; i < made.count; i++)
		check_call(&made.calls[i]);
	calls_plan_finish(&made);
	return 0;
}

static void read_list(const char *text, size_t length)
{
	static const struct calls_bounds bounds = {
		.max_n = 1000,
		.deadline_ms = 30000,
		.call_timeout_ms = 10000,
		.memory_bytes = MEMORY_BYTES,
	};
	struct calls_violation violation;
	struct calls_request request;
	size_t before = allocated;
	int error = calls_request_read(text, length, &bounds, &request, &violation);

	if (!error) {
		assert(allocated - before <= request.bytes);
		violation = (struct calls_violation){0};
		error = plan(&request, &violation);
		calls_request_finish(&request);
	}
	assert(error == 0 || error == -EINVAL || error == -ENOBUFS);
	if (error == -EINVAL)
		check_violation(&violation);
}

static void print_reply(const char *content_type, const char *body, size_t length)
{
	struct http_header header = {"Content-Type", content_type};
	struct text_buffer buffer;
	json_t *printed;

	text_buffer_init(&buffer, SIZE_MAX / 2);
	text_buffer_append(&buffer, "[");
	calls_reply_print_headers(&buffer, &header, 1);
	text_buffer_append(&buffer, ",");
	calls_reply_print_body(&buffer, calls_reply_kind(content_type, body, length, MEMORY_BYTES),
	                       body, length);
	text_buffer_append(&buffer, "]");
	assert(!buffer.error);
	assert(!memchr(buffer.data, '\n', buffer.length) &&
	       !memchr(buffer.data, '\r', buffer.length));
	printed = json_loadb(buffer.data, buffer.length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
	                     NULL);
	assert(printed);
	json_decref(printed);
	text_buffer_finish(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* A block of just that size, and a NUL: a sanitizer sees a read beyond it. */
	char *text = malloc(size + 1);

	assert(text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	json_set_alloc_funcs(count_malloc, count_free);
	read_list(text, size);
	json_arena_install();
	read_list(text, size);
	print_reply("application/json", text, size);
	print_reply("text/plain", text, size);
	if (size > 0 && !memchr(text, '\0', size))
		print_reply(text, "", 0);
	free(text);
	return 0;
}
