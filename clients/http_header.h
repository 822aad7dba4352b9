#ifndef CLIENTS_HTTP_HEADER_H
#define CLIENTS_HTTP_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Header fields as names and values: what a call sends besides what its client
 * writes itself, and what came with a reply. RFC 9110, 5.
 */

/** NUL-terminated texts. Who owns them is said where there are some. */
struct http_header {
	const char *name; /* upper and lower case are one */
	const char *value;
};

/** A token (RFC 9110, 5.6.2), at least one byte. Any thread. */
bool http_header_name_is_valid(const char *name, size_t length);

/**
 * A value that arrives as it is sent: no control character but a tab, no NUL, CR or LF, and no
 * white space at either end, which the receiver would drop. It may be empty, and have bytes above
 * 0x7f. Any thread.
 */
bool http_header_value_is_valid(const char *value, size_t length);

/** Both of these. Any thread. */
bool http_header_is_valid(const struct http_header *header);

/** Whether they name the same field. Any thread. */
bool http_header_is_named(const struct http_header *header, const char *name);

/** The value of the first field of that name; NULL: there is none. Any thread. */
const char *http_header_find(const struct http_header *headers, size_t count, const char *name);

/** Of one connection, not of what is carried over it: Connection and those that belong to it (RFC
 * 9110, 7.6.1), proxies' own included. Any thread. */
bool http_header_is_hop_by_hop(const char *name);

/** What a call must not bring along: the hop-by-hop fields, and Host, Content-Length and Expect,
 * which the client itself sees to. Any thread. */
bool http_header_is_reserved(const char *name);

#endif
