#ifndef SERVER_AUTH_TOKEN_H
#define SERVER_AUTH_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

/* The one bearer token (RFC 6750) that requests must have. */
enum { AUTH_TOKEN_BYTES_MAX = 4096 };

struct auth_token {
	size_t length; /* 0: none, and nothing is admitted */
	char text[AUTH_TOKEN_BYTES_MAX];
};

/**
 * Read the token from the file at @path; line ends and blanks behind it do not count. Blocks.
 *
 * Returns 0; a negative errno with *@out untouched and *@reason static text, or NULL if the errno
 * says it all: -EINVAL there is no token in the file, or no valid one; -EFBIG.
 */
int auth_token_read(const char *path, struct auth_token *out, const char **reason);

/**
 * Whether the value of a request's Authorization header, @length bytes long, brings the token. How
 * long that takes does not depend on how much of the token is right. Any thread.
 */
bool auth_token_admits(const struct auth_token *token, const char *authorization, size_t length);

#endif
