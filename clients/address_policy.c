#include "clients/address_policy.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct v4_block {
	uint32_t address; /* host byte order */
	unsigned bits;
};

static const struct v4_block v4_special[] = {
	{0x00000000, 8},  /* this network: 0.0.0.0 is this machine */
	{0x0a000000, 8},  /* private */
	{0x64400000, 10}, /* carrier-grade NAT */
	{0x7f000000, 8},  /* loopback */
	{0xa9fe0000, 16}, /* link-local, with the metadata services of clouds */
	{0xac100000, 12}, /* private */
	{0xc0000000, 24}, /* protocol assignments */
	{0xc0000200, 24}, /* documentation */
	{0xc0586300, 24}, /* 6to4 relays, deprecated */
	{0xc0a80000, 16}, /* private */
	{0xc6120000, 15}, /* benchmarks */
	{0xc6336400, 24}, /* documentation */
	{0xcb007100, 24}, /* documentation */
	{0xe0000000, 4},  /* multicast */
	{0xf0000000, 4},  /* reserved, and broadcast */
};

struct v6_block {
	uint8_t prefix[4];
	unsigned bits;
};

/* Within 2000::/3, the only part that is in use as public addresses. What is outside of it is
 * loopback, unspecified, mapped, compatible, translated (64:ff9b::/96 and 64:ff9b:1::/48), unique
 * local, link-local, multicast, or not assigned. */
static const struct v6_block v6_special[] = {
	{{0x20, 0x01, 0x00}, 23},       /* protocol assignments, Teredo, ORCHID */
	{{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
	{{0x20, 0x02}, 16},             /* 6to4: an IPv4 address stands in it */
	{{0x3f, 0xff}, 20},             /* documentation */
};

static bool is_public_v4(uint32_t address)
{
	for (size_t i = 0; i < sizeof(v4_special) / sizeof(v4_special[0]); i++) {
		unsigned rest = 32 - v4_special[i].bits;

		if (address >> rest == v4_special[i].address >> rest)
			return false;
	}
	return true;
}

static bool is_in(const uint8_t *address, const struct v6_block *block)
{
	unsigned whole = block->bits / 8, rest = block->bits % 8;

	if (memcmp(address, block->prefix, whole) != 0)
		return false;
	return rest == 0 || (address[whole] ^ block->prefix[whole]) >> (8 - rest) == 0;
}

static bool is_public_v6(const uint8_t address[16])
{
	if (address[0] >> 5 != 1)
		return false;
	for (size_t i = 0; i < sizeof(v6_special) / sizeof(v6_special[0]); i++)
		if (is_in(address, &v6_special[i]))
			return false;
	return true;
}

bool address_is_public(const struct sockaddr *address)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	switch (address->sa_family) {
	case AF_INET:
		memcpy(&v4, address, sizeof(v4));
		return is_public_v4(ntohl(v4.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&v6, address, sizeof(v6));
		return is_public_v6(v6.sin6_addr.s6_addr);
	default:
		return false;
	}
}

static bool allows_public(const struct address_policy *policy, const struct sockaddr *address)
{
	(void)policy;
	return address_is_public(address);
}

const struct address_policy address_policy_public = {.allows = allows_public};
