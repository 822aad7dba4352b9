#ifndef SERVER_DEBUG_PAGES_H
#define SERVER_DEBUG_PAGES_H

#include "server/dispatch.h"
#include "server/executor_set.h"
#include "server/pinned_page.h"
#include "server/tasks_page.h"
#include "server/upstreams_page.h"

/*
 * The pages under /debug: what the executors look like from inside. Their handlers
 * may block and compute, so they run on a thread of their own, one after the
 * other; a few may wait for it, the others get a 503. What the executors of the
 * requests are doing does not delay them.
 *
 * To add one: a handler, and a site_add_on() in debug_pages_add().
 */
struct debug_pages {
	struct executor *executor; /* owned: a pool of one thread */
	struct pinned_page pinned;
	struct tasks_page tasks;
	struct upstreams_page upstreams;
};

/** @executors and @upstreams, which are borrowed, are what the pages show. Returns 0, -ENOMEM or
 * -EAGAIN. */
int debug_pages_start(struct debug_pages *pages, const struct executor_set *executors,
                      struct upstream_holder *upstreams);

/** Serve them at @site. */
void debug_pages_add(struct debug_pages *pages, struct site *site);

/** Wait for the pages under way and end the thread. Before the executors that they show are
 * destroyed. Fine on zeroed ones, and twice. */
void debug_pages_stop(struct debug_pages *pages);

#endif
