#ifndef SERVER_UPSTREAM_METRICS_H
#define SERVER_UPSTREAM_METRICS_H

#include "clients/upstream_set.h"

struct metrics_text;

/**
 * Print what is counted of each upstream of @set, after the samples of metered_client_print(),
 * whose family the first ones belong to.
 *
 * The label of an upstream is its name, or "*" for absolute URLs. That of the default one is its
 * authority, @default_label, and its calls are left out, since the metered client has counted them.
 * A name that is the same gives way to its origin. Any thread.
 */
void upstream_metrics_print(const struct upstream_set *set, const char *default_label,
                            struct metrics_text *text);

#endif
