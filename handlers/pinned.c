#include "handlers/pinned.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "executors/mutex.h"
#include "handlers/batch_call.h"

enum { MUTEXES = 4096, MAX_DELAY_MS = 600000, DEFAULT_DELAY_MS = 200 };

struct pinned_handler {
	struct handler handler;
	struct pinned_options options; /* its upstream is NULL: what is needed of it is below */
	char *url_prefix;              /* owned; the milliseconds of delay complete it */
	struct task_mutex mutexes[MUTEXES];
};

struct pinned_work {
	struct batch_work work; /* first */
	struct batch_call call;
	struct task_mutex *mutexes; /* NULL: without */
};

static void pinned_child(struct batch_child *child, const struct batch_work *work)
{
	const struct pinned_work *pinned = (const struct pinned_work *)work;

	batch_call_make(&pinned->call, child);
}

static void locking_child(struct batch_child *child, const struct batch_work *work)
{
	const struct pinned_work *pinned = (const struct pinned_work *)work;
	struct task_mutex *mutex = &pinned->mutexes[batch_index(child) % MUTEXES];

	if (task_mutex_lock(mutex, task_deadline())) {
		child->outcome = batch_outcome_of_end();
		return;
	}
	batch_call_make(&pinned->call, child);
	task_mutex_unlock(mutex);
}

static void respond(struct pinned_handler *self, const char *url, bool lock,
                    struct batch_request wanted, const struct request *request,
                    struct response *response)
{
	struct http_client *client = lock ? self->options.client : self->options.blocking_client;
	struct pinned_work pinned = {
		.work = {lock ? locking_child : pinned_child, "pinned call", client->ops->name,
	                 http_call_memory_bytes(client, url)},
		.call = {.client = client,
	                 .url = url,
	                 .timeout_ms = self->options.call_timeout_ms,
	                 .max_reply_bytes = self->options.max_reply_bytes},
		.mutexes = self->mutexes,
	};

	wanted.work = &pinned.work;
	batch_respond(&wanted, request, response);
}

static void pinned_serve(struct handler *handler, const struct request *request,
                         struct response *response)
{
	struct pinned_handler *self = (struct pinned_handler *)handler;
	const struct batch_limits *limits = &self->options.limits;
	enum { N, DELAY, LOCK, DEADLINE, EXECUTOR, COUNT };
	struct query_parameter table[COUNT] = {
		[N] = batch_parameter_n(limits),
		[DELAY] = {"delay_ms", .max = MAX_DELAY_MS, .number = DEFAULT_DELAY_MS},
		[LOCK] = {"lock", .max = 1},
		[DEADLINE] = batch_parameter_deadline(limits),
		[EXECUTOR] = batch_parameter_executor(limits),
	};
	struct batch_request wanted = {.limits = limits};
	struct query_error error;
	char *url;

	if (query_read(request->query, table, COUNT, &error)) {
		response_bad_query(response, &error);
		return;
	}
	wanted.n = (unsigned)table[N].number;
	wanted.deadline_ms = (int64_t)table[DEADLINE].number;
	if (asprintf(&url, "%s%u", self->url_prefix, (unsigned)table[DELAY].number) < 0) {
		batch_respond_overloaded(response, "out of memory for the calls");
		return;
	}
	respond(self, url, table[LOCK].number == 1, wanted, request, response);
	free(url);
}

static void pinned_destroy(struct handler *handler)
{
	struct pinned_handler *self = (struct pinned_handler *)handler;

	for (size_t i = 0; i < MUTEXES; i++)
		task_mutex_finish(&self->mutexes[i]);
	free(self->url_prefix);
	free(self);
}

int pinned_handler_create(const struct pinned_options *options, struct handler **out)
{
	struct pinned_handler *self = calloc(1, sizeof(*self));

	assert(options->max_reply_bytes > 0 && options->call_timeout_ms > 0);
	if (!self)
		return -ENOMEM;
	self->url_prefix = batch_call_url_prefix(options->upstream);
	if (!self->url_prefix) {
		free(self);
		return -ENOMEM;
	}
	self->handler = (struct handler){"GET", "/pinned", pinned_serve, pinned_destroy};
	self->options = *options;
	self->options.upstream = NULL;
	for (size_t i = 0; i < MUTEXES; i++)
		task_mutex_init(&self->mutexes[i]);
	*out = &self->handler;
	return 0;
}
