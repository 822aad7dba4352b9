#ifndef SERVER_RELOAD_COUNTS_H
#define SERVER_RELOAD_COUNTS_H

#include <stdatomic.h>

struct metrics_text;

/* What became of the signals to read the configuration again: fanoutd_reloads_total. */
enum reload_result {
	RELOAD_OK,
	RELOAD_FAILED, /* and everything stayed as it was */
	RELOAD_RESULTS,
};

struct reload_counts {
	atomic_ullong counts[RELOAD_RESULTS]; /* relaxed: statistics */
};

/** Any thread. */
static inline void reload_counts_add(struct reload_counts *reloads, enum reload_result result)
{
	atomic_fetch_add_explicit(&reloads->counts[result], 1, memory_order_relaxed);
}

/** Print the family. Any thread. */
void reload_counts_print(struct reload_counts *reloads, struct metrics_text *text);

#endif
