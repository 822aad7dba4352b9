#include "clients/curl_client.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clients/curl_handle.h"
#include "clients/curl_multi_service.h"
#include "clients/http_fail.h"
#include "clients/url_host.h"
#include "executors/carrier.h"
#include "executors/task.h"

/*
 * The half of the client that runs on the task:
 *
 *	find the host in the URL, wait for room for a connection, look the host up
 *	(resolver.c), start the transfer on the carrier, park until it is done; on a
 *	deadline or a cancel, have it removed.
 *
 * libcurl itself runs on the carrier only, in curl_multi_service.c and what that
 * uses, since a task's stack is far too small for it. A pthread is a carrier of
 * one task, so the same code serves every executor.
 *
 * The program must ignore SIGPIPE: OpenSSL writes with write(2).
 */
struct curl_client {
	struct http_client client;
	struct curl_settings settings; /* constant */
	struct resolver *resolver;
	struct connection_gate *gate;
	struct connection_gate_place place; /* libcurl has connections wherever it likes */
};

static struct curl_client *curl_client(struct http_client *client)
{
	return (struct curl_client *)((char *)client - offsetof(struct curl_client, client));
}

static enum http_failure run_transfer(struct curl_client *self, struct http_call *call,
                                      const struct url_host *host, const char *addresses,
                                      struct deadline deadline)
{
	struct curl_transfer transfer = {
		.task = task_current(),
		.call = call,
		.addresses = addresses,
		.host = host,
		.settings = &self->settings,
	};
	struct wait_site site = {
		.kind = WAIT_CALL,
		.detail = (unsigned)host->name_len,
		.object = host->name,
	};
	int error = 0;

	carrier_call(curl_multi_service_start, &transfer);
	while (!atomic_load_explicit(&transfer.done, memory_order_acquire) && error == 0)
		error = task_park_at(site, deadline);
	if (error < 0) {
		transfer.is_overdue = error == -ETIMEDOUT;
		carrier_call(curl_multi_service_remove, &transfer);
	}
	/* It may have ended just before the wait did. */
	if (!atomic_load_explicit(&transfer.done, memory_order_acquire))
		return http_fail_wait(call, error);
	return http_fail(call, transfer.failure, transfer.reason);
}

static enum http_failure look_up_and_run(struct curl_client *self, struct http_call *call,
                                         const struct url_host *host, struct deadline deadline)
{
	struct resolver_answer answer;
	enum http_failure failure;

	call->attempts++;
	if (host->is_address)
		return run_transfer(self, call, host, NULL, deadline);
	failure = http_look_up(call, self->resolver, host, deadline, &answer);
	if (failure != HTTP_OK)
		return failure;
	return run_transfer(self, call, host, answer.addresses, deadline);
}

/* With room for the connection that it takes. */
static enum http_failure run_in_room(struct curl_client *self, struct http_call *call,
                                     const struct url_host *host, struct deadline deadline)
{
	bool shares = host->is_tls && self->settings.http2;
	enum http_failure failure;
	void *given;

	if (!self->gate || shares)
		return look_up_and_run(self, call, host, deadline);
	if (!connection_gate_take(self->gate)) {
		int error = connection_gate_wait(self->gate, &self->place, NULL, deadline, &given);

		if (error < 0)
			return http_fail_wait(call, error);
	}
	failure = look_up_and_run(self, call, host, deadline);
	connection_gate_leave(self->gate);
	return failure;
}

/* libcurl sends what it is given, and a user as "Authorization". */
static bool can_be_sent(const struct http_call *call, const struct url_host *host)
{
	if (host->has_user ||
	    (call->method && !http_header_name_is_valid(call->method, strlen(call->method))))
		return false;
	for (size_t i = 0; i < call->header_count; i++)
		if (!http_header_is_valid(&call->headers[i]))
			return false;
	return true;
}

static enum http_failure curl_client_call(struct http_client *client, struct http_call *call,
                                          struct deadline deadline)
{
	struct curl_client *self = curl_client(client);
	struct url_host host;

	if (url_host_find(call->url, &host) < 0)
		return http_fail(call, HTTP_PROTOCOL, "not an http or https URL");
	if (!can_be_sent(call, &host))
		return http_fail(call, HTTP_PROTOCOL,
		                 "the URL, method or a header cannot be sent as it is");
	return run_in_room(self, call, &host, deadline);
}

static void curl_client_destroy(struct http_client *client)
{
	struct curl_client *self = curl_client(client);

	curl_tls_finish(&self->settings.tls);
	free(self);
}

static const struct http_client_ops curl_client_ops = {
	.name = "curl",
	.call_bytes = 24576, /* 19 KiB are libcurl's; measured */
	.call = curl_client_call,
	.destroy = curl_client_destroy,
};

/* Never undone: what libcurl allocates here is for the life of the process, and undoing it while
 * another client lives would not be safe. */
static CURLcode global_init_code;

static void global_init(void)
{
	global_init_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* HTTP, with OpenSSL for https: curl_tls.c works with no other. */
static bool speaks_http(void)
{
	const curl_version_info_data *libcurl = curl_version_info(CURLVERSION_NOW);
	const char *const *name = libcurl->protocols;

	while (*name && strcmp(*name, "https") != 0)
		name++;
	return *name && strncmp(libcurl->ssl_version, "OpenSSL/", strlen("OpenSSL/")) == 0;
}

int curl_client_create(const struct curl_client_options *options, struct http_client **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct curl_client *self;
	int error;

	assert(options->connect_timeout_ms >= 1 && options->resolver);
	(void)pthread_once(&once, global_init);
	if (global_init_code != CURLE_OK)
		return -ENOMEM;
	if (!speaks_http())
		return -ENOSYS;

	self = calloc(1, sizeof(*self));
	if (!self)
		return -ENOMEM;
	error = curl_tls_init(&self->settings.tls, options->ca_file, options->insecure);
	if (error < 0) {
		free(self);
		return error;
	}
	self->client.ops = &curl_client_ops;
	self->settings.connect_timeout_ms = options->connect_timeout_ms;
	self->settings.http2 = options->http2;
	self->resolver = options->resolver;
	self->gate = options->gate;
	connection_gate_place_init(&self->place);
	*out = &self->client;
	return 0;
}
