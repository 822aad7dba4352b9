#include "server/metered_client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_relay.h"
#include "clients/upstream_stats.h"
#include "server/log.h"
#include "server/metrics_text.h"

#define SAY_TLS_EVERY_NS INT64_C(10000000000)

struct metered_client {
	struct http_relay relay;                /* first */
	atomic_ullong counts[UPSTREAM_RESULTS]; /* relaxed: statistics */
	atomic_llong tls_said_ns; /* when it was; 0: never. Relaxed: guards nothing else */
	char upstream[];
};

/* An answer has room for "tls" alone, and what is wrong with a certificate has to be known to be
 * mended. Once in a while, since all calls fail alike. */
static void say_tls_reason(struct metered_client *metered, const char *reason)
{
	long long said_ns = atomic_load_explicit(&metered->tls_said_ns, memory_order_relaxed);
	int64_t now_ns = deadline_now_ns();

	if (said_ns != 0 && now_ns - said_ns < SAY_TLS_EVERY_NS)
		return;
	if (atomic_compare_exchange_strong_explicit(&metered->tls_said_ns, &said_ns, now_ns,
	                                            memory_order_relaxed, memory_order_relaxed))
		log_event(LOG_SEVERITY_WARNING, "upstream_tls", "upstream=\"%s\" reason=\"%s\"",
		          metered->upstream, reason);
}

static enum http_failure call(struct http_client *client, struct http_call *outcome,
                              struct deadline deadline)
{
	struct metered_client *metered = (struct metered_client *)client;
	enum http_failure failure = http_call_pass_on(metered->relay.inner, outcome);
	unsigned result = upstream_result(failure, outcome->status);

	(void)deadline; /* what is inside may postpone the call's start, and its timeout with it */
	atomic_fetch_add_explicit(&metered->counts[result], 1, memory_order_relaxed);
	if (failure == HTTP_TLS)
		say_tls_reason(metered, outcome->reason);
	return failure;
}

static void destroy(struct http_client *client)
{
	struct metered_client *metered = (struct metered_client *)client;

	http_relay_finish(&metered->relay);
	free(metered);
}

int metered_client_create(struct http_client *inner, const char *upstream, struct http_client **out)
{
	size_t upstream_bytes = strlen(upstream) + 1;
	struct metered_client *metered = calloc(1, sizeof(*metered) + upstream_bytes);

	if (metered == NULL)
		return -ENOMEM;
	http_relay_init(&metered->relay, inner, call, destroy);
	memcpy(metered->upstream, upstream, upstream_bytes);
	*out = &metered->relay.client;
	return 0;
}

const char *metered_client_upstream(const struct http_client *client)
{
	return ((const struct metered_client *)client)->upstream;
}

void metered_client_print(struct http_client *client, struct metrics_text *text)
{
	struct metered_client *metered = (struct metered_client *)client;

	for (unsigned result = 0; result < UPSTREAM_RESULTS; result++)
		metrics_sample(text, "fanoutd_calls_total",
		               (const char *[]){"upstream", metered->upstream, "result",
		                                upstream_result_name(result), NULL},
		               (double)atomic_load_explicit(&metered->counts[result],
		                                            memory_order_relaxed));
}
