#ifndef TESTS_CONTRACT_UPSTREAM_SET_FIXTURE_H
#define TESTS_CONTRACT_UPSTREAM_SET_FIXTURE_H

#include "clients/resolver.h"
#include "clients/upstream_set.h"
#include "tests/contract/over_executor.h"

/* What sets of upstreams are made of: for each test its own. */

extern struct resolver *resolver;
extern struct wire_clients *wire;

/* For cmocka. */
int start_wire(void **state);
int stop_wire(void **state);

/** Settings with nothing but these and what is needed. */
struct upstream_settings named(const char *name, const char *url);

/** A set of these after @previous, which may be NULL; fails the test if that fails. */
struct upstream_set *create_set(const struct upstream_settings *upstreams, size_t count,
                                struct upstream_set *previous);

#endif
