#ifndef SERVER_LISTEN_ADDRESS_H
#define SERVER_LISTEN_ADDRESS_H

#include <stdint.h>

/* HOST:PORT as users write it: "127.0.0.1:8080", "localhost:0", "[::1]:8080". */
struct listen_address {
	char host[254]; /* without brackets */
	uint16_t port;
};

/** Returns 0; -EINVAL @text is not HOST:PORT, and @out is untouched. Resolves nothing. */
int listen_address_parse(const char *text, struct listen_address *out);

enum { LISTEN_ADDRESS_URL_BYTES = 272 };

/** "http://127.0.0.1:8080", "http://[::1]:8080". */
void listen_address_url(const char *host, uint16_t port, char url[LISTEN_ADDRESS_URL_BYTES]);

#endif
