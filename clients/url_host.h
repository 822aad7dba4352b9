#ifndef CLIENTS_URL_HOST_H
#define CLIENTS_URL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a URL points to: what has to be known of it before a client can connect. */
struct url_host {
	const char *name; /* into the URL; without brackets, not terminated */
	size_t name_len;  /* 1 … URL_HOST_NAME_MAX */
	uint16_t port;    /* the scheme's when the URL names none */
	bool is_address;  /* an IPv4 or IPv6 address: nothing to look up */
	bool is_tls;      /* https */
	bool has_user;    /* a user, or a password, stands before the name */
};

enum { URL_HOST_NAME_MAX = 253 }; /* RFC 1035, 2.3.4, as text */

/**
 * Find the host in @url, which is borrowed by @out.
 *
 * Names are ASCII letters, digits, '-', '_' and '.'; an international one is
 * given in its xn-- form. Returns 0; -EINVAL @url is not http:// or https://, or
 * has no such host, or no such port. @out is untouched on failure. Any thread.
 */
int url_host_find(const char *url, struct url_host *out);

/**
 * What stands between the slashes and the path in @url, "host:8443": its start, with *@length set;
 * what follows is the path and query, or "". @url is one that a call can be made to. Any thread.
 */
const char *url_authority(const char *url, size_t *length);

/** FNV-1a of a name of @name_len and a port; the same whatever the case of the name's letters. Any
 * thread. */
uint32_t url_host_hash(const char *name, size_t name_len, uint16_t port);

#endif
