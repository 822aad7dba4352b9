#ifndef HANDLERS_LIVE_LIMITS_H
#define HANDLERS_LIVE_LIMITS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The limits of requests that can change while the server runs. A request keeps those that
 * it finds when its handler begins.
 *
 * All are relaxed: each says something by itself, so a request may as well find one of before a
 * change and one of after it.
 */
struct live_limits {
	atomic_uint max_n;              /* calls of a request, at least 1 */
	atomic_llong call_timeout_ms;   /* of a call, at least 1 */
	atomic_size_t max_reply_bytes;  /* of a call, at least 1 */
	atomic_size_t max_memory_bytes; /* of a request */
};

static inline unsigned live_max_n(const struct live_limits *limits)
{
	return atomic_load_explicit(&limits->max_n, memory_order_relaxed);
}

static inline int64_t live_call_timeout_ms(const struct live_limits *limits)
{
	return atomic_load_explicit(&limits->call_timeout_ms, memory_order_relaxed);
}

static inline size_t live_max_reply_bytes(const struct live_limits *limits)
{
	return atomic_load_explicit(&limits->max_reply_bytes, memory_order_relaxed);
}

static inline size_t live_max_memory_bytes(const struct live_limits *limits)
{
	return atomic_load_explicit(&limits->max_memory_bytes, memory_order_relaxed);
}

#endif
