#ifndef CLIENTS_HTTP1_ADDRESS_H
#define CLIENTS_HTTP1_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Addresses as text, as a URL and the resolver give them, and as connect(2) wants them. */
struct http1_address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/**
 * Read an IPv4 or IPv6 address, without brackets; an IPv6 one may have a zone ("fe80::1%eth0").
 * False: it is neither, or there is no such zone. Any thread.
 */
bool http1_address_read(const char *text, size_t length, uint16_t port, struct http1_address *out);

/**
 * Take the first address off *@list, "192.0.2.1,[2001:db8::1]". False: there is none left.
 * Any thread.
 */
bool http1_address_take(const char **list, uint16_t port, struct http1_address *out);

/** How many addresses are in @list, readable or not. Any thread. */
unsigned http1_address_count(const char *list);

#endif
