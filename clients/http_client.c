#include "clients/http_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/http_fail.h"
#include "executors/task.h"

enum { TLS_BYTES = 45056 }; /* what OpenSSL takes for a connection; measured */

const char *http_failure_name(enum http_failure failure)
{
	static const char *const names[HTTP_FAILURES] = {
		[HTTP_OK] = "ok",
		[HTTP_TIMEOUT] = "timeout",
		[HTTP_CONNECT] = "connect",
		[HTTP_RESET] = "reset",
		[HTTP_TOO_LARGE] = "too_large",
		[HTTP_CANCELED] = "canceled",
		[HTTP_FD_LIMIT] = "fd_limit",
		[HTTP_NO_PERMIT] = "no_permit",
		[HTTP_PROTOCOL] = "protocol",
		[HTTP_DNS] = "dns",
		[HTTP_TLS] = "tls",
		[HTTP_BREAKER] = "breaker",
	};

	assert(failure < HTTP_FAILURES);
	return names[failure];
}

size_t http_call_memory_bytes(const struct http_client *client, const char *url)
{
	size_t tls_bytes = strncasecmp(url, "https:", 6) == 0 ? TLS_BYTES : 0;

	return client->ops->call_bytes + tls_bytes;
}

enum http_failure http_call_pass_on(struct http_client *client, struct http_call *call)
{
	struct deadline deadline = call->until;

	call->started_ns = deadline_now_ns();
	if (call->timeout_ms > 0)
		deadline = deadline_earlier(
			deadline,
			(struct deadline){call->started_ns + (int64_t)call->timeout_ms * 1000000});
	if (task_cancel_reason() != CANCEL_NONE)
		return http_fail_wait(call, -ECANCELED);
	if (call->started_ns >= deadline.ns)
		return http_fail_wait(call, -ETIMEDOUT);
	return client->ops->call(client, call, deadline);
}

static void clear_outcome(struct http_call *call)
{
	call->failure = HTTP_OK;
	call->reason = NULL;
	call->status = 0;
	call->reply_len = 0;
	call->replied = false;
	call->has_retry_after = false;
	call->retry_after_s = 0;
}

enum http_failure http_call_pass_straight(struct http_client *client, struct http_call *call,
                                          struct deadline deadline)
{
	return client->ops->call(client, call, deadline);
}

static void check_request(const struct http_call *call)
{
	assert(call->url && call->max_reply_bytes > 0);
	assert(call->body || call->body_len == 0);
	assert(call->headers || call->header_count == 0);
	assert(!call->reply && !call->reply_headers);
}

enum http_failure http_call(struct http_client *client, struct http_call *call,
                            struct deadline deadline)
{
	assert(client && client->ops);
	check_request(call);
	clear_outcome(call);
	call->attempts = 0;
	call->until = deadline;
	call->failure = http_call_pass_on(client, call);
	call->elapsed_ns = deadline_now_ns() - call->started_ns;
	if (call->failure != HTTP_OK) {
		http_call_finish(call);
		call->status = 0;
		call->reply_len = 0;
	}
	return call->failure;
}

void http_call_forget(struct http_call *call)
{
	http_call_finish(call);
	clear_outcome(call);
}

bool http_call_is_repeatable(const struct http_call *call)
{
	static const char *const idempotent[] = {"GET",    "HEAD",    "PUT",
	                                         "DELETE", "OPTIONS", "TRACE"};

	if (!call->method || call->repeatable)
		return true;
	for (size_t i = 0; i < sizeof(idempotent) / sizeof(idempotent[0]); i++)
		if (strcmp(call->method, idempotent[i]) == 0)
			return true;
	return false;
}

void http_call_finish(struct http_call *call)
{
	free(call->reply);
	call->reply = NULL;
	free(call->reply_headers);
	call->reply_headers = NULL;
	call->reply_header_count = 0;
	call->reply_header_bytes = 0;
	if (call->memory_taken > 0)
		reply_memory_give(call->memory, call->memory_taken);
	call->memory_taken = 0;
}

void http_client_tick(struct http_client *client)
{
	if (client->ops->tick)
		client->ops->tick(client);
}

void http_client_destroy(struct http_client *client)
{
	if (client)
		client->ops->destroy(client);
}
