#ifndef CLIENTS_BREAKER_H
#define CLIENTS_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/recent_counts.h"

/*
 * Whether an upstream is called at all. One that fails is left alone for a while:
 * its calls fail at once, rather than wait for it, and it has the time to recover.
 *
 *	closed     all calls go there; opens when of at least min_calls of the last
 *	           window_ms error_percent or more were errors
 *	open       none goes there, for open_ms; then the next one is the probe
 *	half-open  the probe is under way, and no other call goes there. If it
 *	           succeeds: closed, with nothing remembered; if not: open again. If it says
 *	           nothing, or not within open_ms, the next call is a probe, too
 *
 * A state machine without clock or lock: the caller brings the time, and guards it. After
 * Nygard, Release It!, 2007, chapter 5.
 */
struct breaker_settings {
	unsigned error_percent; /* 1 … 100; 0: no breaker */
	unsigned min_calls;     /* at least 1 */
	unsigned window_ms;     /* at least BREAKER_SLOTS */
	unsigned open_ms;       /* at least 1 */
};

#define BREAKER_DEFAULTS                                                                           \
	((struct breaker_settings){                                                                \
		.error_percent = 50, .min_calls = 20, .window_ms = 2000, .open_ms = 1000})

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN, BREAKER_STATES };

enum { BREAKER_SLOTS = RECENT_SLOTS };

struct breaker {
	struct breaker_settings settings; /* constant */
	enum breaker_state state;
	uint64_t opened;  /* how often it has */
	int64_t since_ns; /* open: since when; half-open: when the probe began */
	uint64_t turn;    /* grows with each change and each probe: who reports says in which one
	                     it was admitted */
	uint64_t opened_in_turn; /* the last time */

	struct recent_counts window; /* while closed: calls and errors, in slots of a tenth of it */
};

/** What became of a call that was admitted. */
enum breaker_report {
	BREAKER_SUCCESS,
	BREAKER_ERROR,
	BREAKER_NOTHING, /* it says nothing of the upstream: cancelled, or never sent */
};

/** Closed. */
void breaker_init(struct breaker *breaker, const struct breaker_settings *settings);

/** May a call be made? True with *@turn, for breaker_report() once it is over. */
bool breaker_admit(struct breaker *breaker, int64_t now_ns, uint64_t *turn);

/** A call that was admitted in @turn is over. Of turns that have passed only the success of a probe
 * counts, while another is under way. */
void breaker_report(struct breaker *breaker, int64_t now_ns, uint64_t turn,
                    enum breaker_report report);

/** Static text: "closed", "open", "half_open". */
const char *breaker_state_name(enum breaker_state state);

#endif
