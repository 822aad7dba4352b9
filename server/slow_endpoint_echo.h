#ifndef SERVER_SLOW_ENDPOINT_ECHO_H
#define SERVER_SLOW_ENDPOINT_ECHO_H

#include <stddef.h>

/*
 * The body of the answer to /echo: the request as it came, as JSON.
 *
 *	{"method":"POST","target":"/echo?a=1","headers":[["Host","a"]],"body":"…"}
 *
 * Control characters are escaped; other bytes stand as they came, so that it is
 * JSON if the request was UTF-8. Touches nothing but its arguments.
 */
struct slow_echo {
	char *text; /* owned; NULL: no request for it is at hand */
	size_t length, capacity;
};

/** Start with a head of @length bytes that slow_request_parse() has accepted. Returns 0 or -ENOMEM.
 */
int slow_echo_begin(struct slow_echo *echo, const char *head, size_t length);

/** @length bytes more of the request's body. Returns 0 or -ENOMEM. */
int slow_echo_add(struct slow_echo *echo, const char *bytes, size_t length);

/** That was all. Returns 0 or -ENOMEM. */
int slow_echo_end(struct slow_echo *echo);

/** In any state; zeroed, too. */
void slow_echo_finish(struct slow_echo *echo);

#endif
