#ifndef CLIENTS_ADDRESS_POLICY_H
#define CLIENTS_ADDRESS_POLICY_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Which addresses a call may connect to, whatever name or spelling led there. The
 * clients ask at the moment of connecting, about the address itself, so a name that
 * resolves differently the second time (DNS rebinding) gains nothing. Connections
 * are shared only by calls with the same policy.
 */
struct address_policy {
	/** May @address, of whatever family, be connected to? Any thread; never waits. */
	bool (*allows)(const struct address_policy *policy, const struct sockaddr *address);
};

/** Public addresses alone: for URLs that come from whoever sends a request. */
extern const struct address_policy address_policy_public;

/**
 * An IPv4 or IPv6 address that belongs to the public internet: none that IANA's registries of
 * special purpose have as not globally reachable, no multicast, and none that has an IPv4 address
 * in it by which something else might be reached (mapped, compatible, translated, 6to4, Teredo).
 *
 * https://www.iana.org/assignments/iana-ipv4-special-registry,
 * https://www.iana.org/assignments/iana-ipv6-special-registry. Any thread.
 */
bool address_is_public(const struct sockaddr *address);

#endif
