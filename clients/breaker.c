#include "clients/breaker.h"

#include <assert.h>

#define MS_NS INT64_C(1000000)

const char *breaker_state_name(enum breaker_state state)
{
	static const char *const names[BREAKER_STATES] = {
		[BREAKER_CLOSED] = "closed",
		[BREAKER_OPEN] = "open",
		[BREAKER_HALF_OPEN] = "half_open",
	};

	assert(state < BREAKER_STATES);
	return names[state];
}

void breaker_init(struct breaker *breaker, const struct breaker_settings *settings)
{
	assert(settings->error_percent >= 1 && settings->error_percent <= 100);
	assert(settings->min_calls >= 1 && settings->open_ms >= 1);
	assert(settings->window_ms >= BREAKER_SLOTS);
	*breaker = (struct breaker){.settings = *settings};
}

/* ------ the window */

static void count(struct breaker *breaker, int64_t now_ns, bool is_error)
{
	int64_t slot_ns = breaker->settings.window_ms * MS_NS / BREAKER_SLOTS;

	recent_counts_add(&breaker->window, now_ns / slot_ns, 1, is_error);
}

static bool is_failing(const struct breaker *breaker)
{
	const struct recent_counts *window = &breaker->window;

	return window->all_calls >= breaker->settings.min_calls &&
	       window->all_others * 100 >= window->all_calls * breaker->settings.error_percent;
}

/* ------ the states */

static void become(struct breaker *breaker, enum breaker_state state, int64_t now_ns)
{
	breaker->state = state;
	breaker->since_ns = now_ns;
	breaker->turn++;
	if (state == BREAKER_OPEN) {
		breaker->opened++;
		breaker->opened_in_turn = breaker->turn;
	}
	if (state == BREAKER_CLOSED)
		breaker->window = (struct recent_counts){0};
}

bool breaker_admit(struct breaker *breaker, int64_t now_ns, uint64_t *turn)
{
	/* Open for long enough, or a probe that takes too long. */
	if (breaker->state != BREAKER_CLOSED) {
		if (now_ns - breaker->since_ns < breaker->settings.open_ms * MS_NS)
			return false;
		become(breaker, BREAKER_HALF_OPEN, now_ns);
	}
	*turn = breaker->turn;
	return true;
}

static void report_probe(struct breaker *breaker, int64_t now_ns, enum breaker_report report)
{
	switch (report) {
	case BREAKER_SUCCESS:
		become(breaker, BREAKER_CLOSED, now_ns);
		break;
	case BREAKER_ERROR:
		become(breaker, BREAKER_OPEN, now_ns);
		break;
	case BREAKER_NOTHING:
		/* The next call is a probe. */
		breaker->since_ns = now_ns - breaker->settings.open_ms * MS_NS;
		break;
	}
}

void breaker_report(struct breaker *breaker, int64_t now_ns, uint64_t turn,
                    enum breaker_report report)
{
	bool is_late = turn != breaker->turn;

	if (breaker->state == BREAKER_HALF_OPEN) {
		/* An earlier probe, since it has opened. */
		bool is_late_probe = is_late && turn > breaker->opened_in_turn;

		if (!is_late || (is_late_probe && report == BREAKER_SUCCESS))
			report_probe(breaker, now_ns, report);
		return;
	}
	if (is_late || report == BREAKER_NOTHING)
		return;
	count(breaker, now_ns, report == BREAKER_ERROR);
	if (report == BREAKER_ERROR && is_failing(breaker))
		become(breaker, BREAKER_OPEN, now_ns);
}
