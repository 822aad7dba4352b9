#include "server/rejections.h"

#include <stddef.h>

#include "server/metrics_text.h"

static const char *const names[REJECTIONS] = {
	[REJECTED_QUEUE] = "queue",     [REJECTED_MAX_TASKS] = "max_tasks",
	[REJECTED_THREADS] = "threads", [REJECTED_MEMORY] = "memory",
	[REJECTED_FDS] = "fds",
};

void rejections_print(struct rejections *rejections, struct metrics_text *text)
{
	metrics_family(text, "fanoutd_rejected_total", "counter",
	               "Requests and connections turned away because something was full.");
	for (size_t i = 0; i < REJECTIONS; i++)
		metrics_sample(
			text, "fanoutd_rejected_total", (const char *[]){"reason", names[i], NULL},
			(double)atomic_load_explicit(&rejections->counts[i], memory_order_relaxed));
}
