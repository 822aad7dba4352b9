#ifndef CLIENTS_RETRY_H
#define CLIENTS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "executors/deadline.h"

/*
 * When a call that failed is worth another attempt, and how long to wait before it:
 * decisions alone. retry_client.h makes the attempts, retry_budget.h bounds them.
 */
struct retry_settings {
	unsigned attempts; /* in all, the first one included; 0 or 1: no retry */
	unsigned base_ms;  /* the first pause is at most this, each further one at most double */
	unsigned max_ms;   /* and never more than this, but for what a server asks for */
};

enum { RETRY_ATTEMPTS_MAX = 10 };

#define RETRY_DEFAULTS ((struct retry_settings){.attempts = 3, .base_ms = 50, .max_ms = 1000})

/** A source of random numbers that can be repeated. Any seed will do. Guarded by its owner. */
struct retry_random {
	uint64_t state; /* for splitmix64_next() */
};

/** The next number, from 0 up to @limit, which is included. */
uint64_t retry_random_upto(struct retry_random *random, uint64_t limit);

/**
 * Whether @call, which has an outcome, may be sent again and may fare better then: its method is
 * idempotent or it says that it is repeatable, and it could not connect, was reset before anything
 * of a reply came, or was answered with 429, 502, 503 or 504. Any thread.
 */
bool retry_is_worth_it(const struct http_call *call);

/**
 * How long to wait before the next attempt, in nanoseconds, after @made of them: a random time up
 * to base_ms * 2^(made - 1) ("full jitter":
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). It is added to what
 * the reply's Retry-After asked for, so that those who were told the same do not come all at once.
 */
int64_t retry_pause_ns(const struct retry_settings *settings, unsigned made,
                       const struct http_call *call, struct retry_random *random);

/**
 * Whether an attempt after @pause_ns could end before @until: it is given as long as the last one
 * took, which is @took_ns.
 */
bool retry_has_time(int64_t now_ns, int64_t pause_ns, int64_t took_ns, struct deadline until);

#endif
