#ifndef CLIENTS_URL_ALLOW_H
#define CLIENTS_URL_ALLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/url_host.h"

/*
 * Which absolute URLs may be called: those that are like one of the patterns, each
 * SCHEME://HOST or SCHEME://HOST:PORT, where HOST is
 *
 *	api.example.com    this one
 *	*.example.com      any name below example.com, which is not one itself
 *	*                  any host
 *
 * What is compared is the host that a client would connect to, so that no spelling of a URL gets
 * past: one in which different programs might see different hosts is refused. What
 * its name resolves to is a matter of address_policy.h.
 */
struct url_pattern {
	bool is_tls;
	bool is_below; /* "*.…": @host is what follows the star and the point */
	bool is_any;   /* "*" */
	uint16_t port;
	char host[URL_HOST_NAME_MAX + 1]; /* lower case, or an address as inet_ntop(3) has it */
};

/** Patterns, borrowed. Zeroed allows nothing. */
struct url_allow {
	const struct url_pattern *patterns;
	size_t count;
};

/** Read @text. Returns 0; -EINVAL, with *@reason set to static text that says what is wrong. Any
 * thread. */
int url_pattern_parse(const char *text, struct url_pattern *out, const char **reason);

/**
 * May @url be called?
 *
 * Returns 0; -EINVAL it is no URL that a call can be made to; -EACCES no pattern is like it.
 * Then *@reason is static text. Any thread.
 */
int url_allow_check(const struct url_allow *allow, const char *url, const char **reason);

#endif
