#include "handlers/batch_call.h"

#include <stdio.h>
#include <string.h>

static void record(struct batch_child *child, const struct http_call *made)
{
	child->outcome = made->failure;
	child->elapsed_ns = made->elapsed_ns;
	if (made->failure != HTTP_OK)
		return;
	if (made->status <= 0 || made->status >= BATCH_STATUS_LIMIT) {
		child->outcome = HTTP_PROTOCOL;
		return;
	}
	child->status = made->status;
	child->reply_len = made->reply_len;
}

void batch_call_make(const struct batch_call *call, struct batch_child *child)
{
	struct http_call made = {
		.url = call->url,
		.max_reply_bytes = call->max_reply_bytes,
		.count_only = true,
		.timeout_ms = call->timeout_ms,
	};

	batch_enter(child->batch);
	(void)http_call(call->client, &made, task_deadline());
	batch_leave(child->batch);
	record(child, &made);
	http_call_finish(&made);
}

static const char *joint_of(const char *upstream)
{
	size_t length = strlen(upstream);

	if (!strchr(upstream, '?'))
		return "?";
	return strchr("?&", upstream[length - 1]) ? "" : "&";
}

char *batch_call_url_prefix(const char *upstream)
{
	char *prefix;

	return asprintf(&prefix, "%s%sms=", upstream, joint_of(upstream)) < 0 ? NULL : prefix;
}
