#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include <h2o.h>
#include <stdbool.h>
#include <stddef.h>

#include "handlers/handler.h"
#include "server/exchange.h"
#include "server/request_durations.h"
#include "server/slow_readers.h"

/* Which handler answers which path on one listener. */
struct route {
	struct handler *handler;   /* borrowed; says method and path */
	bool on_front;             /* answers at once on the front; else on a task */
	struct executor *executor; /* of that task; NULL: the one that the request asks for */
	bool head;                 /* answers HEAD, too */
	struct request_durations durations;
};

enum { SITE_ROUTES_MAX = 16 };

/** Constant once a front has it, but for the durations. */
struct site {
	struct route routes[SITE_ROUTES_MAX];
	size_t count;
	struct request_durations unmatched; /* 404, 405, 400: what no route has seen */
};

/** Zeroed is an empty site. */
void site_add(struct site *site, struct handler *handler, bool on_front, bool head);

/** Have @handler, which may block, serve on tasks of @executor, which is borrowed. No HEAD. */
void site_add_on(struct site *site, struct handler *handler, struct executor *executor);

/** Serve @site to connections of @host. The site is borrowed. */
void dispatch_register(h2o_hostconf_t *host, struct site *site);

/** What dispatch needs of the front whose loop a request came in on. */
struct dispatch_front {
	h2o_context_t context;
	struct exchange_set exchanges;
	struct slow_readers readers;
};

#endif
