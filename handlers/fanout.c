#include "handlers/fanout.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/fanout_answer.h"
#include "handlers/fanout_parameters.h"

struct fanout_handler {
	struct handler handler;
	struct fanout_options options; /* its upstream is NULL: what is needed of it is below */
	char *url_prefix;              /* owned; the milliseconds of delay complete it */
};

/* What one request allocates, beside its answer. */
struct fanout {
	struct fanout_calls *calls;
	struct fanout_summary *summary;
	char *url;
};

static uint64_t fanout_bytes(unsigned n)
{
	return fanout_calls_bytes(n) + fanout_summary_bytes(n);
}

static void fanout_finish(struct fanout *fanout)
{
	free(fanout->url);
	free(fanout->summary);
	free(fanout->calls);
}

static int fanout_init(struct fanout *fanout, const struct fanout_handler *self,
                       const struct fanout_parameters *parameters)
{
	*fanout = (struct fanout){
		.calls = fanout_calls_create(parameters->n),
		.summary = fanout_summary_create(parameters->n),
	};
	if (!fanout->calls || !fanout->summary ||
	    asprintf(&fanout->url, "%s%u", self->url_prefix, parameters->delay_ms) < 0) {
		fanout->url = NULL; /* undefined after a failure */
		fanout_finish(fanout);
		return -ENOMEM;
	}
	fanout->calls->client = self->options.client;
	fanout->calls->url = fanout->url;
	fanout->calls->timeout_ms = parameters->timeout_ms;
	fanout->calls->max_reply_bytes = self->options.max_reply_bytes;
	fanout->calls->cpu_us = parameters->cpu_us;
	return 0;
}

/* The request's deadline is its arrival plus the server's whole deadline_ms. */
static struct deadline earlier_by_parameter(struct deadline request_deadline,
                                            const struct fanout_options *options,
                                            const struct fanout_parameters *parameters)
{
	int64_t unused_ms = options->deadline_ms - parameters->deadline_ms;

	return (struct deadline){request_deadline.ns - unused_ms * 1000000};
}

static void respond_overloaded(struct response *response, const char *detail)
{
	response_problem(response, 503, NULL, "%s", detail);
	response_set_header(response, "Retry-After", "1");
}

static void respond_over_memory(struct response *response, const char *what,
                                const struct fanout_options *options)
{
	response_problem(response, 503, NULL,
	                 "the %s more than the %zu bytes of max-request-bytes-in-memory", what,
	                 options->max_memory_bytes);
	response_set_header(response, "Retry-After", "1");
}

/* Consumes the text in @buffer. */
static void respond(struct response *response, struct text_buffer *buffer,
                    const struct fanout_summary *summary)
{
	response->status = 200;
	response->content_type = "application/json";
	(void)text_buffer_take(buffer, &response->body, &response->body_len);
	if (fanout_summary_is_overload(summary)) {
		response->status = 503;
		response_set_header(response, "Retry-After", "1");
	}
}

static void answer(const struct fanout *fanout, const struct fanout_handler *self,
                   const struct fanout_parameters *parameters, int64_t elapsed_ns,
                   struct response *response)
{
	size_t max_bytes = self->options.max_memory_bytes - (size_t)fanout_bytes(parameters->n);
	struct fanout_answer what = {
		.executor = task_executor_name(),
		.client = self->options.client->ops->name,
		.elapsed_ns = elapsed_ns,
		.summary = fanout->summary,
		.calls = fanout->calls,
		/* Nobody reads the answer to a client that has gone: keep it short. */
		.detail = parameters->detail && task_cancel_reason() != CANCEL_CLIENT_GONE,
	};
	struct text_buffer buffer;

	fanout_summary_fill(fanout->summary, fanout->calls);
	text_buffer_init(&buffer, max_bytes);
	fanout_answer_print(&what, &buffer);
	if (!buffer.error)
		respond(response, &buffer, fanout->summary);
	else if (buffer.error == -ENOBUFS)
		respond_over_memory(response, "answer needs", &self->options);
	else
		respond_overloaded(response, "out of memory for the answer");
	text_buffer_finish(&buffer);
}

static void fanout_serve(struct handler *handler, const struct request *request,
                         struct response *response)
{
	struct fanout_handler *self = (struct fanout_handler *)handler;
	int64_t started_ns = deadline_now_ns();
	struct fanout_parameters parameters;
	struct scope_options scope;
	struct query_error error;
	struct fanout fanout;

	if (fanout_parameters_read(request->query, &self->options, &parameters, &error)) {
		response_problem(response, 400, error.parameter[0] ? error.parameter : NULL, "%s",
		                 error.text);
		return;
	}
	if (fanout_bytes(parameters.n) > self->options.max_memory_bytes) {
		respond_over_memory(response, "calls need", &self->options);
		return;
	}
	if (fanout_init(&fanout, self, &parameters)) {
		respond_overloaded(response, "out of memory for the calls");
		return;
	}
	scope = (struct scope_options){
		.max_parallel = parameters.max_parallel,
		.deadline = earlier_by_parameter(request->deadline, &self->options, &parameters),
	};
	fanout_calls_make(fanout.calls, &scope);
	answer(&fanout, self, &parameters, deadline_now_ns() - started_ns, response);
	fanout_finish(&fanout);
}

static void fanout_destroy(struct handler *handler)
{
	struct fanout_handler *self = (struct fanout_handler *)handler;

	free(self->url_prefix);
	free(self);
}

/* What goes between the upstream's URL and "ms=…". */
static const char *joint_of(const char *upstream)
{
	size_t length = strlen(upstream);

	if (!strchr(upstream, '?'))
		return "?";
	return strchr("?&", upstream[length - 1]) ? "" : "&";
}

int fanout_handler_create(const struct fanout_options *options, struct handler **out)
{
	struct fanout_handler *self = calloc(1, sizeof(*self));
	const char *upstream = options->upstream;

	assert(options->max_n > 0 && options->max_reply_bytes > 0);
	assert(options->call_timeout_ms > 0 && options->deadline_ms > 0);
	if (!self)
		return -ENOMEM;
	if (asprintf(&self->url_prefix, "%s%sms=", upstream, joint_of(upstream)) < 0) {
		free(self);
		return -ENOMEM;
	}
	self->handler = (struct handler){"GET", "/fanout", fanout_serve, fanout_destroy};
	self->options = *options;
	self->options.upstream = NULL;
	*out = &self->handler;
	return 0;
}
