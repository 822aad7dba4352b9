#include "server/auth_token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "executors/text_file.h"

/* b64token of RFC 6750 §2.1. */
static bool is_token(const char *text, size_t length)
{
	size_t body = 0;

	while (body < length &&
	       (isalnum((unsigned char)text[body]) || memchr("-._~+/", text[body], 6) != NULL))
		body++;
	for (size_t i = body; i < length; i++)
		if (text[i] != '=')
			return false;
	return body > 0;
}

int auth_token_read(const char *path, struct auth_token *out, const char **reason)
{
	char bytes[AUTH_TOKEN_BYTES_MAX + 1] = {0};
	ssize_t count = text_file_read(AT_FDCWD, path, bytes, sizeof(bytes));

	*reason = NULL;
	if (count < 0)
		return (int)count;
	size_t length = (size_t)count;

	while (length > 0 && isspace((unsigned char)bytes[length - 1]))
		length--;
	if (!is_token(bytes, length)) {
		*reason = length == 0 ? "it is empty" : "what is in it cannot be a bearer token";
		explicit_bzero(bytes, sizeof(bytes));
		return -EINVAL;
	}
	out->length = length;
	memcpy(out->text, bytes, length);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* Goes through all of @given, whatever it is. */
static bool is_same(const struct auth_token *token, const char *given, size_t length)
{
	size_t difference = token->length ^ length;

	for (size_t i = 0; i < length; i++) {
		difference |= (unsigned char)(token->text[i % token->length] ^ given[i]);
		/* The compiler must not know when the answer is clear. */
		__asm__("" : "+r"(difference));
	}
	return difference == 0;
}

bool auth_token_admits(const struct auth_token *token, const char *authorization, size_t length)
{
	static const char scheme[] = "bearer ";
	size_t start = sizeof(scheme) - 1;

	if (token->length == 0 || length < start || strncasecmp(authorization, scheme, start) != 0)
		return false;
	while (start < length && authorization[start] == ' ')
		start++;
	return is_same(token, authorization + start, length - start);
}
