#ifndef HANDLERS_LIVE_LIMITS_H
#define HANDLERS_LIVE_LIMITS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/batch_request.h"

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

/** Have the three say what the limits are now. @limits may be NULL: they stay as they are. Any
 * thread. */
static inline void live_limits_read(const struct live_limits *limits, struct batch_limits *batch,
                                    int64_t *call_timeout_ms, size_t *max_reply_bytes)
{
	if (!limits)
		return;
	batch->max_n = atomic_load_explicit(&limits->max_n, memory_order_relaxed);
	batch->max_memory_bytes =
		atomic_load_explicit(&limits->max_memory_bytes, memory_order_relaxed);
	*call_timeout_ms = atomic_load_explicit(&limits->call_timeout_ms, memory_order_relaxed);
	*max_reply_bytes = atomic_load_explicit(&limits->max_reply_bytes, memory_order_relaxed);
}

#endif
