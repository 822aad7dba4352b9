#ifndef TESTS_CONTRACT_CLIENT_BURSTS_H
#define TESTS_CONTRACT_CLIENT_BURSTS_H

#include "server/slow_endpoint.h"
#include "tests/contract/client_fixture.h"

/** Two bursts of @count calls to a slow endpoint, on an executor that has one carrier, or a thread
 * for each call and one for the parent. Fails the test unless all are answered; returns what the
 * endpoint saw of both. */
struct slow_endpoint_stats make_two_bursts(const struct client_fixture *fixture, unsigned count);

#endif
