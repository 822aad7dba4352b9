#include "handlers/fanout.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/batch_call.h"
#include "handlers/burn_cpu.h"
#include "handlers/fanout_parameters.h"

struct fanout_handler {
	struct handler handler;
	struct fanout_options options; /* its upstream is NULL: what is needed of it is below */
	char *url_prefix;              /* owned; the milliseconds of delay complete it */
};

struct fanout_work {
	struct batch_work work; /* first */
	struct batch_call call;
	uint64_t cpu_us; /* to burn after each call */
};

static void run_call(struct batch_child *child, const struct batch_work *work)
{
	const struct fanout_work *fanout = (const struct fanout_work *)work;

	batch_call_make(&fanout->call, child);
	if (fanout->cpu_us > 0)
		burn_cpu(fanout->cpu_us);
}

static void respond(const struct fanout_options *options,
                    const struct fanout_parameters *parameters, const char *url,
                    const struct request *request, struct response *response)
{
	struct fanout_work fanout = {
		.work = {run_call, "fanout call", options->client->ops->name,
	                 http_call_memory_bytes(options->client, url)},
		.call = {.client = options->client,
	                 .url = url,
	                 .timeout_ms = parameters->timeout_ms,
	                 .max_reply_bytes = options->max_reply_bytes},
		.cpu_us = parameters->cpu_us,
	};
	struct batch_request wanted = {
		.limits = &options->limits,
		.work = &fanout.work,
		.n = parameters->n,
		.deadline_ms = parameters->deadline_ms,
		.max_parallel = parameters->max_parallel,
		.detail = parameters->detail,
	};

	batch_respond(&wanted, request, response);
}

static void fanout_serve(struct handler *handler, const struct request *request,
                         struct response *response)
{
	struct fanout_handler *self = (struct fanout_handler *)handler;
	struct fanout_options options = self->options;
	struct fanout_parameters parameters;
	struct query_error error;
	char *url;

	live_limits_read(options.live, &options.limits, &options.call_timeout_ms,
	                 &options.max_reply_bytes);
	if (fanout_parameters_read(request->query, &options, &parameters, &error)) {
		response_bad_query(response, &error);
		return;
	}
	if (asprintf(&url, "%s%u", self->url_prefix, parameters.delay_ms) < 0) {
		batch_respond_overloaded(response, "out of memory for the calls");
		return;
	}
	respond(&options, &parameters, url, request, response);
	free(url);
}

static void fanout_destroy(struct handler *handler)
{
	struct fanout_handler *self = (struct fanout_handler *)handler;

	free(self->url_prefix);
	free(self);
}

int fanout_handler_create(const struct fanout_options *options, struct handler **out)
{
	struct fanout_handler *self = calloc(1, sizeof(*self));

	assert(options->limits.max_n > 0 && options->limits.deadline_ms > 0);
	assert(options->max_reply_bytes > 0 && options->call_timeout_ms > 0);
	if (!self)
		return -ENOMEM;
	self->handler = (struct handler){"GET", "/fanout", fanout_serve, fanout_destroy};
	self->options = *options;
	self->options.upstream = NULL;
	self->url_prefix = batch_call_url_prefix(options->upstream);
	if (!self->url_prefix) {
		free(self);
		return -ENOMEM;
	}
	*out = &self->handler;
	return 0;
}
