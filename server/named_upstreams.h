#ifndef SERVER_NAMED_UPSTREAMS_H
#define SERVER_NAMED_UPSTREAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/upstream_set.h"
#include "clients/wire_clients.h"
#include "server/config.h"

/*
 * The upstreams of the configuration as lists of calls find them: what the file says of
 * each, made into a set of clients/upstream_set.h, and once more for each new file.
 * The default one, which GET /fanout calls, is that of the start for good.
 */
struct named_upstreams {
	struct wire_clients *wire;        /* owned; NULL before the start */
	struct upstream_holder upstreams; /* for whoever calls */
	bool has_upstreams;
	struct upstream_settings by_default; /* borrowed texts and client; no URL: there is none */
};

struct named_upstreams_options {
	const char *default_url; /* borrowed until the stop; NULL: there is no default upstream */
	struct http_client *default_client; /* likewise; has the limits of --upstream-permits */
	struct resolver *resolver;          /* borrowed */
	struct connection_gate *gate;       /* borrowed */
};

enum { NAMED_UPSTREAMS_ERROR_BYTES = 400 };

/**
 * Make the set of @config, whose texts are borrowed until the stop. Returns 0, or a negative errno
 * with one line in @error_text, with line and column of the upstream at fault, and nothing is
 * started. Main thread only, as those below; reads the files of certificates.
 */
int named_upstreams_start(struct named_upstreams *named, const struct config *config,
                          const struct named_upstreams_options *options,
                          char error_text[NAMED_UPSTREAMS_ERROR_BYTES]);

/**
 * Have requests that begin from now on call the upstreams of @config; those under way go on with
 * what they have. An upstream of which nothing changes stays as it is, calls, breaker and counters
 * included. Returns as the start does; on an error everything stays as it is.
 */
int named_upstreams_change(struct named_upstreams *named, const struct config *config,
                           char error_text[NAMED_UPSTREAMS_ERROR_BYTES]);

/** About once a second. */
void named_upstreams_tick(struct named_upstreams *named);

/** The executors have been destroyed. In any state of a start; zeroed too. */
void named_upstreams_stop(struct named_upstreams *named);

#endif
