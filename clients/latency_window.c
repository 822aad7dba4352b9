#include "clients/latency_window.h"

#include <assert.h>
#include <string.h>

/* The first octave begins with it: 2^10 ns. */
enum { FIRST_BIT = 10, SUB_BITS = 4 };

_Static_assert(1 << SUB_BITS == LATENCY_CLASSES_PER_OCTAVE, "an octave has that many classes");

static unsigned class_of(int64_t took_ns)
{
	uint64_t took = took_ns < 1 << FIRST_BIT ? 1u << FIRST_BIT : (uint64_t)took_ns;
	unsigned bit = 63 - (unsigned)__builtin_clzll(took);
	unsigned class = (bit - FIRST_BIT) * LATENCY_CLASSES_PER_OCTAVE +
	                 (unsigned)(took >> (bit - SUB_BITS)) % LATENCY_CLASSES_PER_OCTAVE;

	return class < LATENCY_CLASSES ? class : LATENCY_CLASSES - 1;
}

static int64_t upper_end(unsigned class)
{
	unsigned bit = FIRST_BIT + class / LATENCY_CLASSES_PER_OCTAVE;
	int64_t sixteenths = LATENCY_CLASSES_PER_OCTAVE + class % LATENCY_CLASSES_PER_OCTAVE + 1;

	return (sixteenths << (bit - SUB_BITS)) - 1;
}

static void begin_period(struct latency_window *window, int64_t now_ns)
{
	window->newer = !window->newer;
	memset(window->counts[window->newer], 0, sizeof(window->counts[0]));
	window->totals[window->newer] = 0;
	window->began_ns = now_ns;
}

void latency_window_add(struct latency_window *window, int64_t now_ns, int64_t took_ns)
{
	uint32_t filled = window->totals[window->newer];

	if (filled >= LATENCY_PERIOD_CALLS ||
	    (filled >= LATENCY_PERIOD_LEAST && now_ns - window->began_ns >= LATENCY_PERIOD_NS))
		begin_period(window, now_ns);
	window->counts[window->newer][class_of(took_ns)]++;
	window->totals[window->newer]++;
}

uint32_t latency_window_count(const struct latency_window *window)
{
	return window->totals[0] + window->totals[1];
}

int64_t latency_window_at_rank(const struct latency_window *window, uint32_t rank)
{
	uint32_t passed = 0;

	assert(rank >= 1 && rank <= latency_window_count(window));
	for (unsigned class = 0; class < LATENCY_CLASSES; class ++) {
		passed += window->counts[0][class] + window->counts[1][class];
		if (passed >= rank)
			return upper_end(class);
	}
	return upper_end(LATENCY_CLASSES - 1);
}

int64_t latency_window_percentile(const struct latency_window *window, unsigned percent)
{
	uint64_t count = latency_window_count(window);
	uint64_t rank = (count * percent + 99) / 100;

	return count == 0 ? 0 : latency_window_at_rank(window, (uint32_t)rank);
}
