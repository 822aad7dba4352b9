#ifndef SERVER_SLOW_ENDPOINT_REQUEST_H
#define SERVER_SLOW_ENDPOINT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/slow_endpoint_parameters.h"

/*
 * Reading a request head (RFC 9112) into what the endpoint is to do: the route,
 * the parameters, or the refusal to answer with. Touches nothing but its
 * arguments. Stricter than it need be where leniency lets requests be smuggled:
 * bare CR or LF, folded lines, a space before a colon, Content-Length twice.
 */
enum {
	SLOW_HEAD_MAX_BYTES = 16384,
	SLOW_CONTENT_MAX_BYTES = 1 << 20, /* of a request's body, which is skipped */
};

enum slow_route {
	SLOW_ROUTE_REFUSED, /* answer refused_status and refused_text */
	SLOW_ROUTE_SLOW,
	SLOW_ROUTE_ECHO,
	SLOW_ROUTE_STATS,
	SLOW_ROUTE_STATS_RESET,
};

struct slow_request {
	enum slow_route route;
	struct slow_parameters parameters; /* of SLOW_ROUTE_SLOW */

	unsigned content_bytes; /* of body that follow the head */
	bool is_head;           /* method HEAD: answers have no body */
	bool http_1_0;
	bool keep_alive;
	bool expects_continue; /* holds its body back until told 100 Continue */
	bool unframed;         /* where the next request starts is unknown: close after answering */

	unsigned refused_status;
	const char *allow; /* of a 405; static text */
	char refused_text[SLOW_REFUSAL_TEXT_BYTES];
};

/**
 * Length of the head at the start of @data, its final empty line included.
 *
 * Returns 0 while incomplete; -EMSGSIZE over SLOW_HEAD_MAX_BYTES; -EBADMSG a line ends with
 * LF alone. *@scanned, 0 for a new head, keeps the place between calls with more of the
 * same data.
 */
ssize_t slow_request_head_length(const char *data, size_t length, size_t *scanned);

/** Read a whole head of @length bytes. Every fault is a refusal in @request. */
void slow_request_parse(struct slow_request *request, const char *head, size_t length);

/** The refusal of a head that slow_request_head_length() answered with @error. */
void slow_request_refuse_head(struct slow_request *request, int error);

#endif
