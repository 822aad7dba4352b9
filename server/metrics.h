#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "clients/http_client.h"
#include "clients/upstream_set.h"
#include "executors/offload.h"
#include "handlers/handler.h"
#include "server/cpu_watch.h"
#include "server/dispatch.h"
#include "server/executor_set.h"
#include "server/memory_watch.h"
#include "server/rejections.h"
#include "server/reload_counts.h"

/* GET /metrics: what the rest of the server counts, as Prometheus text. All borrowed. */
struct metrics_handler {
	struct handler super;
	struct cpu_watch *cpus;
	struct memory_watch *memory;
	const struct executor_set *executors;
	struct offload *offload;
	struct http_client *client; /* a metered one; NULL: there is no default upstream */
	struct upstream_holder *upstreams;
	struct rejections *rejections;
	struct reload_counts *reloads;
	struct site *sites[2]; /* the main one; the admin one or NULL */
};

/** The caller has filled in what follows @super. Its destroy does nothing. */
void metrics_handler_init(struct metrics_handler *handler);

#endif
