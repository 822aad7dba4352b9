#include "server/app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/blocking_client.h"
#include "handlers/calls.h"
#include "handlers/cpu.h"
#include "handlers/fanout.h"
#include "handlers/overflow.h"
#include "handlers/pinned.h"
#include "handlers/sleep.h"
#include "server/backlog_limit.h"
#include "server/listener.h"
#include "server/log.h"

enum { LISTEN_BACKLOG = 4096 };

/* Put "cannot WHAT NAME: REASON" in @text, and pass @error on. */
static int explain(char text[APP_ERROR_BYTES], int error, const char *what, const char *name)
{
	if (snprintf(text, APP_ERROR_BYTES, "cannot %s %s: %s", what, name,
	             error == -EADDRNOTAVAIL ? "there is no such address on this machine"
	                                     : strerrordesc_np(-error)) < 0)
		text[0] = '\0';
	return error;
}

static int explain_listen(char text[APP_ERROR_BYTES], int error,
                          const struct listen_address *address)
{
	char url[LISTEN_ADDRESS_URL_BYTES];

	listen_address_url(address->host, address->port, url);
	return explain(text, error, "listen on", url);
}

/* Have both sites ask for the token of --auth-token-file, if there is to be one. */
static int read_token(struct app *app, char error_text[APP_ERROR_BYTES])
{
	const char *path = app->config->auth_token_file, *reason;

	if (path == NULL)
		return 0;
	int error = auth_token_read(path, &app->token, &reason);

	if (error == 0) {
		app->site.token = app->admin_site.token = &app->token;
		return 0;
	}
	if (snprintf(error_text, APP_ERROR_BYTES, "cannot use --auth-token-file %s: %s", path,
	             reason != NULL ? reason : strerrordesc_np(-error)) < 0)
		error_text[0] = '\0';
	return error;
}

static void warn_of_backlog(const char *listener, unsigned backlog)
{
	int limit = backlog_limit();

	if (limit >= 0 && (unsigned)limit < backlog)
		log_event(LOG_SEVERITY_WARNING, "backlog_cut", "listener=%s wanted=%u somaxconn=%d",
		          listener, backlog, limit);
}

static int start_slow_endpoint(struct app *app, char error_text[APP_ERROR_BYTES])
{
	const struct listen_address *address = &app->config->slow_listen;
	struct slow_endpoint_options options = {
		.host = address->host,
		.port = address->port,
		.backlog = (int)app->config->slow_backlog,
	};

	if (address->host[0] == '\0')
		return 0;
	warn_of_backlog("slow", app->config->slow_backlog);
	int error = slow_endpoint_start(&options, &app->slow_endpoint);

	return error == 0 ? 0 : explain_listen(error_text, error, address);
}

static int start_executors(struct app *app, char error_text[APP_ERROR_BYTES])
{
	const char *failed = NULL;
	unsigned usable = app->cpus.quota.usable;

	app->carriers = app->config->carriers != 0 ? app->config->carriers : usable;
	if (app->carriers > EXECUTOR_CARRIERS_MAX)
		app->carriers = EXECUTOR_CARRIERS_MAX;
	int error = offload_create(&(struct offload_options){.cpus = app->carriers}, &app->offload);

	if (error != 0)
		return explain(error_text, error, "start", "the offload lanes");
	error = executor_set_start(&app->executors, app->config, app->carriers, &failed);
	return error == 0 ? 0 : explain(error_text, error, "start the executor", failed);
}

/* What GET /fanout calls: --upstream, or the slow endpoint, which may listen on every address. With
 * neither there is nothing for it to call. */
static int name_upstream(struct app *app)
{
	char slow_url[LISTEN_ADDRESS_URL_BYTES];
	const char *host = app->config->slow_listen.host;

	if (app->config->upstream == NULL && app->slow_endpoint == NULL)
		return 0;
	if (app->config->upstream != NULL) {
		app->upstream = strdup(app->config->upstream);
		return app->upstream != NULL ? 0 : -ENOMEM;
	}
	if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	listen_address_url(host, slow_endpoint_port(app->slow_endpoint), slow_url);
	if (asprintf(&app->upstream, "%s/slow", slow_url) < 0) {
		app->upstream = NULL;
		return -ENOMEM;
	}
	return 0;
}

static struct batch_limits batch_limits_of(struct app *app)
{
	const struct config *config = app->config;

	return (struct batch_limits){
		.max_n = config->max_n,
		.deadline_ms = config->deadline_ms,
		.max_memory_bytes = config->max_request_bytes_in_memory,
		.memory = &app->memory.budget,
		.executors = config->compare ? executor_names() : NULL,
	};
}

static int create_fanout(struct app *app)
{
	const struct config *config = app->config;
	struct fanout_options options = {
		.limits = batch_limits_of(app),
		.live = &app->limits,
		.client = app->clients.client,
		.upstream = app->upstream,
		.call_timeout_ms = config->call_timeout_ms,
		.max_reply_bytes = config->max_reply_bytes,
		.experiments = config->experiments,
	};

	if (app->upstream == NULL)
		return 0;
	int error = fanout_handler_create(&options, &app->fanout);

	if (error == 0)
		site_add(&app->site, app->fanout);
	return error;
}

static int create_calls(struct app *app)
{
	const struct config *config = app->config;
	struct calls_options options = {
		.limits = batch_limits_of(app),
		.live = &app->limits,
		.upstreams = &app->named_upstreams.upstreams,
		.call_timeout_ms = config->call_timeout_ms,
		.max_reply_bytes = config->max_reply_bytes,
	};
	int error = calls_handler_create(&options, &app->calls);

	if (error == 0)
		site_add(&app->site, app->calls);
	return error;
}

static int create_pinned(struct app *app, struct handler **out)
{
	const struct config *config = app->config;
	struct pinned_options options = {
		.limits = batch_limits_of(app),
		.client = app->clients.client,
		.upstream = app->upstream,
		.call_timeout_ms = config->call_timeout_ms,
		.max_reply_bytes = config->max_reply_bytes,
	};

	if (app->upstream == NULL)
		return 0;
	int error = blocking_client_create(&app->blocking_client);

	if (error != 0)
		return error;
	options.blocking_client = app->blocking_client;
	return pinned_handler_create(&options, out);
}

static int create_experiments(struct app *app)
{
	struct batch_limits limits = batch_limits_of(app);
	struct handler **experiments = app->experiments;
	int error = sleep_handler_create(&limits, &experiments[0]);

	if (error == 0)
		error = cpu_handler_create(&limits, &experiments[1]);
	if (error == 0)
		error = create_pinned(app, &experiments[2]);
	for (size_t i = 0; error == 0 && i < APP_EXPERIMENTS; i++) {
		if (experiments[i] != NULL)
			site_add(&app->site, experiments[i]);
	}
	return error;
}

static int create_handlers(struct app *app)
{
	bool has_admin = app->config->admin_listen.host[0] != '\0' || app->given.admin_fd >= 0;
	struct site *admin = has_admin ? &app->admin_site : NULL;
	int error = create_fanout(app);

	if (error == 0)
		error = create_calls(app);
	if (error == 0 && app->config->experiments)
		error = create_experiments(app);
	if (error != 0)
		return error;
	readyz_handler_init(&app->readyz);
	app->metrics.cpus = &app->cpus;
	app->metrics.memory = &app->memory;
	app->metrics.executors = &app->executors;
	app->metrics.offload = app->offload;
	app->metrics.client = app->clients.client;
	app->metrics.upstreams = &app->named_upstreams.upstreams;
	app->metrics.rejections = &app->rejections;
	app->metrics.reloads = &app->reloads;
	app->metrics.sites[0] = &app->site;
	app->metrics.sites[1] = admin;
	metrics_handler_init(&app->metrics);
	site_add_probe(&app->site, &livez_handler);
	site_add_probe(&app->site, &app->readyz.super);
	if (admin != NULL) {
		site_add_probe(admin, &livez_handler);
		site_add_probe(admin, &app->readyz.super);
	}
	site_add_on_front(admin != NULL ? admin : &app->site, &app->metrics.super);
	return debug_pages_start(&app->debug_pages, &app->executors,
	                         &app->named_upstreams.upstreams);
}

/* Where /debug is served: by the admin listener, or by the main one if nobody else on the network
 * can reach it, or nowhere. */
static void add_debug_pages(struct app *app, const struct fronts_options *listeners)
{
	struct site *site = &app->site;

	if (listeners->admin_fd >= 0)
		site = &app->admin_site;
	else if (!listener_is_loopback(listeners->listen_fd))
		return;
	debug_pages_add(&app->debug_pages, site);
	if (app->config->experiments && overflow_handler != NULL)
		site_add(site, overflow_handler);
}

/* At @at, unless a socket was given; *@at becomes where it is. */
static int open_listener(int given_fd, struct listen_address *at, int *fd,
                         char error_text[APP_ERROR_BYTES])
{
	*fd = given_fd;
	if (given_fd >= 0) {
		int error = listener_address(given_fd, at);

		return error == 0 ? 0 : explain(error_text, error, "use", "a socket of LISTEN_FDS");
	}
	if (at->host[0] == '\0')
		return 0;
	int result = listener_open(at->host, at->port, LISTEN_BACKLOG, &at->port);

	if (result < 0)
		return explain_listen(error_text, result, at);
	*fd = result;
	return 0;
}

static int open_listeners(struct app *app, int *listen_fd, int *admin_fd,
                          char error_text[APP_ERROR_BYTES])
{
	struct listen_address admin = app->config->admin_listen;
	int error;

	app->listen = app->config->listen;
	error = open_listener(app->given.listen_fd, &app->listen, listen_fd, error_text);

	if (error != 0)
		return error;
	error = open_listener(app->given.admin_fd, &admin, admin_fd, error_text);
	if (error != 0) {
		close(*listen_fd);
		return error;
	}
	warn_of_backlog("main", LISTEN_BACKLOG);
	if (*admin_fd >= 0)
		log_event(LOG_SEVERITY_INFO, "admin_listening", "host=\"%s\" port=%u", admin.host,
		          admin.port);
	return 0;
}

static int start_fronts(struct app *app, char error_text[APP_ERROR_BYTES])
{
	unsigned quarter = app->cpus.quota.usable / 4;
	struct fronts_options options = {
		.are_given = app->given.listen_fd >= 0 || app->given.admin_fd >= 0,
		.count = quarter > 0 ? quarter : 1,
		.site = &app->site,
		.admin_site = &app->admin_site,
		.max_body_bytes = app->config->max_body_bytes,
		.exchanges = {.deadline_ms = app->config->deadline_ms,
	                      .keep_half_closed = app->config->half_close == CONFIG_HALF_CLOSE_KEEP,
	                      .max_tasks = app->config->max_tasks,
	                      .executors = &app->executors,
	                      .rejections = &app->rejections},
		.rejections = &app->rejections,
	};
	int error = open_listeners(app, &options.listen_fd, &options.admin_fd, error_text);

	if (error != 0)
		return error;
	add_debug_pages(app, &options);
	error = fronts_start(&app->fronts, &options);
	return error == 0 ? 0 : explain(error_text, error, "start", "the front threads");
}

/* Everything but the fronts; in any state of a start. */
static void stop_inner(struct app *app)
{
	debug_pages_stop(&app->debug_pages);
	executor_set_destroy(&app->executors);
	for (size_t i = 0; i < APP_EXPERIMENTS; i++)
		handler_destroy(app->experiments[i]);
	handler_destroy(app->fanout);
	handler_destroy(app->calls);
	http_client_destroy(app->blocking_client);
	named_upstreams_stop(&app->named_upstreams);
	upstream_clients_stop(&app->clients);
	offload_destroy(app->offload); /* the lookups are over */
	slow_endpoint_stop(app->slow_endpoint);
	memory_watch_finish(&app->memory);
	cpu_watch_finish(&app->cpus);
	free(app->upstream);
}

static int start_named_upstreams(struct app *app, char error_text[APP_ERROR_BYTES])
{
	const struct named_upstreams_options options = {
		.default_url = app->upstream,
		.default_client = app->clients.client,
		.resolver = app->clients.resolver,
		.gate = &app->clients.gate,
	};

	_Static_assert((int)APP_ERROR_BYTES >= (int)NAMED_UPSTREAMS_ERROR_BYTES,
	               "there is room for what may be said");
	return named_upstreams_start(&app->named_upstreams, app->config, &options, error_text);
}

static int start_inner(struct app *app, char error_text[APP_ERROR_BYTES])
{
	int error = start_slow_endpoint(app, error_text);

	if (error == 0)
		error = start_executors(app, error_text);
	if (error != 0)
		return error;
	error = name_upstream(app);
	if (error != 0)
		return explain(error_text, error, "start", "the client");
	error = upstream_clients_start(&app->clients, app->config, app->upstream, app->offload,
	                               error_text);
	if (error == 0)
		error = start_named_upstreams(app, error_text);
	if (error != 0)
		return error;
	app_take_limits(app, app->config);
	error = create_handlers(app);
	return error == 0 ? 0 : explain(error_text, error, "start", "the handlers");
}

/* What a service manager has set up. That it cannot be notified is no reason not to serve. */
static int find_given(struct app *app, char error_text[APP_ERROR_BYTES])
{
	int error = notify_init(&app->notifier, app->config->environment);

	if (error != 0)
		log_event(LOG_SEVERITY_WARNING, "notify", "error=%s", strerrorname_np(-error));
	_Static_assert((int)APP_ERROR_BYTES >= (int)GIVEN_SOCKETS_ERROR_BYTES,
	               "there is room for what may be said");
	return given_sockets_find(app->config->environment, &app->given, error_text);
}

int app_start(struct app *app, const struct config *config, char error_text[APP_ERROR_BYTES])
{
	*app = (struct app){.config = config};
	int error = find_given(app, error_text);

	if (error == 0)
		error = read_token(app, error_text);

	if (error != 0)
		return error;
	error = cpu_watch_init(&app->cpus);
	if (error != 0)
		return explain(error_text, error, "read", "the CPU quota");
	error = memory_watch_init(&app->memory);
	if (error != 0) {
		cpu_watch_finish(&app->cpus);
		return explain(error_text, error, "read", "the memory limit");
	}
	error = start_inner(app, error_text);
	if (error == 0) {
		/* Nothing is in use but what all requests share. */
		(void)memory_watch_read(&app->memory);
		error = start_fronts(app, error_text);
	}
	if (error != 0) {
		stop_inner(app);
		return error;
	}
	memory_watch_log(&app->memory);
	watchdog_init(&app->watchdog, &app->notifier, &app->fronts, &app->executors);
	return 0;
}

static void follow_quota(struct app *app)
{
	unsigned usable = cpu_watch_read(&app->cpus);

	if (usable > EXECUTOR_CARRIERS_MAX)
		usable = EXECUTOR_CARRIERS_MAX;
	if (app->config->carriers != 0 || usable == app->carriers)
		return;
	offload_resize(app->offload, usable);
	/* On an error fewer carriers run than wanted: try again at the next tick. */
	int error = executor_set_resize(&app->executors, usable);

	if (error != 0) {
		log_event(LOG_SEVERITY_WARNING, "carriers", "wanted=%u error=%s", usable,
		          strerrorname_np(-error));
		return;
	}
	log_event(LOG_SEVERITY_INFO, "carriers", "now=%u was=%u", usable, app->carriers);
	app->carriers = usable;
}

void app_tick(struct app *app)
{
	follow_quota(app);
	if (memory_watch_read(&app->memory))
		memory_watch_log(&app->memory);
	pinned_log_write(&app->pinned_log, &app->executors);
	if (app->clients.client != NULL)
		http_client_tick(app->clients.client);
	named_upstreams_tick(&app->named_upstreams);
}

void app_take_limits(struct app *app, const struct config *config)
{
	const struct upstream_limits of_default = config_default_limits(config);
	struct live_limits *limits = &app->limits;

	atomic_store_explicit(&limits->max_n, config->max_n, memory_order_relaxed);
	atomic_store_explicit(&limits->call_timeout_ms, config->call_timeout_ms,
	                      memory_order_relaxed);
	atomic_store_explicit(&limits->max_reply_bytes, config->max_reply_bytes,
	                      memory_order_relaxed);
	atomic_store_explicit(&limits->max_memory_bytes, config->max_request_bytes_in_memory,
	                      memory_order_relaxed);
	if (app->clients.limits != NULL)
		upstream_client_set_limits(app->clients.limits, &of_default);
}

void app_stop(struct app *app)
{
	/* A task's last act wakes its front, and the client's state sits on the carriers. */
	debug_pages_stop(&app->debug_pages);
	executor_set_destroy(&app->executors);
	fronts_stop(&app->fronts);
	stop_inner(app);
	notify_finish(&app->notifier);
}
