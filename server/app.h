#ifndef SERVER_APP_H
#define SERVER_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executors/offload.h"
#include "handlers/live_limits.h"
#include "server/auth_token.h"
#include "server/client_setup.h"
#include "server/config.h"
#include "server/cpu_watch.h"
#include "server/debug_pages.h"
#include "server/executor_set.h"
#include "server/fronts.h"
#include "server/given_sockets.h"
#include "server/memory_watch.h"
#include "server/metrics.h"
#include "server/named_upstreams.h"
#include "server/notify.h"
#include "server/pinned_log.h"
#include "server/probes.h"
#include "server/rejections.h"
#include "server/reload_counts.h"
#include "server/slow_endpoint.h"
#include "server/upstream_clients.h"
#include "server/watchdog.h"

enum { APP_EXPERIMENTS = 3 }; /* /sleep, /cpu, /pinned */

/*
 * All parts of the server, put together: started from the inside out (slow
 * endpoint, executors, client, handlers, fronts) and stopped the other way.
 *
 * Main thread only, but for what its parts say of themselves.
 */
struct app {
	const struct config *config; /* borrowed */
	struct cpu_watch cpus;
	struct memory_watch memory;
	struct slow_endpoint *slow_endpoint; /* NULL: off */
	struct offload *offload;             /* outlives the executors, whose tasks use it */
	struct executor_set executors;
	struct pinned_log pinned_log;
	char *upstream; /* owned; the URL that GET /fanout calls; NULL: it has none */
	struct upstream_clients clients;
	struct named_upstreams named_upstreams;
	struct live_limits limits;
	struct http_client *blocking_client; /* NULL without --experiments */
	struct handler *fanout;              /* NULL without an upstream */
	struct handler *calls;
	struct handler *experiments[APP_EXPERIMENTS]; /* NULL without --experiments */
	struct readyz_handler readyz;
	struct metrics_handler metrics;
	struct debug_pages debug_pages;
	struct rejections rejections;
	struct reload_counts reloads;
	struct auth_token token; /* with --auth-token-file; else unused */
	struct site site, admin_site;
	struct fronts fronts;
	unsigned carriers; /* as asked for */
	struct given_sockets given;
	struct listen_address listen; /* where the main listener is; a port, not 0 */
	struct notifier notifier;
	struct watchdog watchdog;
};

enum { APP_ERROR_BYTES = CLIENT_SETUP_ERROR_BYTES };

/**
 * Start everything @config asks for. Returns 0, or a negative errno with nothing left running
 * and one line in @error_text, without newline.
 */
int app_start(struct app *app, const struct config *config, char error_text[APP_ERROR_BYTES]);

/** Once a second: follow the CPU quota, log what is new, have the client close what is idle. */
void app_tick(struct app *app);

/** Have the limits of requests that begin from now on be those of @config, which is borrowed for
 * the call. */
void app_take_limits(struct app *app, const struct config *config);

/** Stop everything, in order. The fronts are drained. */
void app_stop(struct app *app);

#endif
