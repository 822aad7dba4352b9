#ifndef SERVER_UPSTREAM_URL_H
#define SERVER_UPSTREAM_URL_H

/**
 * Is @url one that calls can be made to? http:// or https://, a host, and if
 * wanted a port, a path and a query (RFC 3986). No user, no fragment, and only
 * printable ASCII: whatever else belongs there is percent-encoded.
 *
 * Returns 0; -EINVAL, with *@reason set to static text that says what is wrong.
 */
int upstream_url_check(const char *url, const char **reason);

#endif
