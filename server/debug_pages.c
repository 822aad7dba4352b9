#include "server/debug_pages.h"

enum { REQUESTS_AT_ONCE = 4 };

int debug_pages_start(struct debug_pages *pages, const struct executor_set *executors,
                      struct upstream_holder *upstreams)
{
	const struct executor_options options = {
		.threads = 1,
		.max_tasks = REQUESTS_AT_ONCE,
		.max_queued = REQUESTS_AT_ONCE,
	};

	pinned_page_init(&pages->pinned, executors);
	tasks_page_init(&pages->tasks, executors);
	upstreams_page_init(&pages->upstreams, upstreams);
	return executor_create("pool", &options, &pages->executor);
}

void debug_pages_add(struct debug_pages *pages, struct site *site)
{
	site_add_on(site, &pages->pinned.super, pages->executor);
	site_add_on(site, &pages->tasks.super, pages->executor);
	site_add_on(site, &pages->upstreams.super, pages->executor);
}

void debug_pages_stop(struct debug_pages *pages)
{
	executor_destroy(pages->executor);
	pages->executor = NULL;
	if (pages->tasks.super.destroy != NULL)
		handler_destroy(&pages->tasks.super);
}
