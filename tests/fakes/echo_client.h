#ifndef TESTS_FAKES_ECHO_CLIENT_H
#define TESTS_FAKES_ECHO_CLIENT_H

#include "clients/http_client.h"

/*
 * A client whose calls reach no network: each is answered with what it asked for, as
 * JSON, in the way that its URL says:
 *
 *	http://HOST/PATH?ms=5&status=503&error=reset
 *
 * waits for 5 ms (`ms=forever` until it is cancelled or over its deadline), then fails as the error
 * says, or is answered with the status. `as=text` answers with the path alone, as text/plain;
 * `as=bytes` with bytes that are no UTF-8; `bytes=1000` with so many. It waits as real clients do.
 */

/** On success *@out is the caller's, for http_client_destroy(). Returns 0 or -ENOMEM. */
int echo_client_create(struct http_client **out);

/** The paths of the calls that have begun, one after the other; "/a /b ". Any thread; to be freed.
 */
char *echo_client_begun(struct http_client *client);

#endif
