#include "server/reload_counts.h"

#include <stddef.h>

#include "server/metrics_text.h"

void reload_counts_print(struct reload_counts *reloads, struct metrics_text *text)
{
	static const char *const names[RELOAD_RESULTS] = {
		[RELOAD_OK] = "ok",
		[RELOAD_FAILED] = "failed",
	};

	metrics_family(text, "fanoutd_reloads_total", "counter",
	               "How often the configuration was read again.");
	for (size_t i = 0; i < RELOAD_RESULTS; i++)
		metrics_sample(
			text, "fanoutd_reloads_total", (const char *[]){"result", names[i], NULL},
			(double)atomic_load_explicit(&reloads->counts[i], memory_order_relaxed));
}
