#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include <h2o.h>
#include <stdbool.h>
#include <stddef.h>

#include "handlers/handler.h"
#include "server/auth_token.h"
#include "server/exchange_set.h"
#include "server/request_durations.h"
#include "server/slow_readers.h"

/* Which handler answers which path on one listener. */
struct route {
	struct handler *handler;   /* borrowed; says method and path */
	bool on_front;             /* answers at once on the front; else on a task */
	struct executor *executor; /* of that task; NULL: the one that the request asks for */
	bool is_probe;             /* answers HEAD, too, and whoever asks */
	struct request_durations durations;
};

enum { SITE_ROUTES_MAX = 16 };

/** Constant once a front has it, but for the durations. */
struct site {
	struct route routes[SITE_ROUTES_MAX];
	size_t count;
	const struct auth_token *token;     /* what all but probes need; NULL: nothing. Borrowed */
	struct request_durations unmatched; /* 400, 401, 404, 405, 415: what no route has seen */
};

/* Zeroed is an empty site. Handlers are borrowed. */

/** Have @handler serve on tasks of the executor that the request asks for. */
void site_add(struct site *site, struct handler *handler);

/** Have @handler, which may block, serve on tasks of @executor, which is borrowed. */
void site_add_on(struct site *site, struct handler *handler, struct executor *executor);

/** Have @handler, which never waits, serve on the front, without looking at the request. */
void site_add_on_front(struct site *site, struct handler *handler);

/** The same for a probe: it answers HEAD, too, and needs no token. */
void site_add_probe(struct site *site, struct handler *handler);

/** Serve @site to connections of @host. The site is borrowed. */
void dispatch_register(h2o_hostconf_t *host, struct site *site);

/** What dispatch needs of the front whose loop a request came in on. */
struct dispatch_front {
	h2o_context_t context;
	struct exchange_set exchanges;
	struct slow_readers readers;
};

#endif
