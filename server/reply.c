#include "server/reply.h"

#include <string.h>

#include "clients/http_status.h"

/* In the request's pool. */
struct reply {
	struct slow_reader reader;
	struct response response;
};

/* h2o clears the request's pool: written out, or the connection has ended. */
static void on_dispose(void *data)
{
	struct reply *reply = data;

	slow_readers_remove(&reply->reader);
	response_finish(&reply->response);
}

static struct reply *add_reply(struct slow_readers *readers, h2o_req_t *request,
                               struct response *response)
{
	struct reply *reply = h2o_mem_alloc_shared(&request->pool, sizeof(*reply), on_dispose);

	reply->response = *response;
	*response = (struct response){0};
	slow_readers_add(readers, &reply->reader, request);
	return reply;
}

static void add_header(h2o_req_t *request, const char *name, const char *value)
{
	h2o_iovec_t sent = h2o_strdup(&request->pool, name, strlen(name));
	h2o_iovec_t found = h2o_strdup(&request->pool, name, strlen(name));
	h2o_iovec_t copy = h2o_strdup(&request->pool, value, strlen(value));

	h2o_strtolower(found.base, found.len);
	h2o_add_header_by_str(&request->pool, &request->res.headers, found.base, found.len, 0,
	                      sent.base, copy.base, copy.len);
}

void reply_name_request(h2o_req_t *request, const struct request_context *context)
{
	char traceparent[TRACEPARENT_BYTES];

	request_context_traceparent(context, traceparent);
	add_header(request, "X-Request-Id", context->request_id);
	add_header(request, "traceparent", traceparent);
}

void reply_set_head(h2o_req_t *request, const struct response *response, size_t body_len)
{
	const char *name, *value;
	size_t place = 0;

	request->res.status = response->status;
	request->res.reason = http_status_phrase((unsigned)response->status);
	request->res.content_length = body_len;
	if (response->content_type != NULL)
		h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		               response->content_type, strlen(response->content_type));
	while (response_next_header(response, &place, &name, &value))
		add_header(request, name, value);
}

void reply_send(struct slow_readers *readers, h2o_req_t *request, struct response *response)
{
	static h2o_generator_t generator;
	struct reply *reply = add_reply(readers, request, response);
	bool head_only = h2o_memis(request->method.base, request->method.len, H2O_STRLIT("HEAD"));
	h2o_iovec_t body = h2o_iovec_init(reply->response.body, reply->response.body_len);

	if (reply->response.status == 0)
		reply->response.status = 500;
	reply_set_head(request, &reply->response, body.len);
	h2o_start_response(request, &generator);
	h2o_send(request, &body, head_only || body.len == 0 ? 0 : 1, H2O_SEND_STATE_FINAL);
}
