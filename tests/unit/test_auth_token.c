#include "server/auth_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

static struct auth_token token;
static const char *reason;

/* Read a token from a file with @bytes in it. */
static int read_from(const char *bytes, size_t count)
{
	char path[] = "/tmp/auth-token-XXXXXX";
	int fd = mkstemp(path), error;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	close(fd);
	error = auth_token_read(path, &token, &reason);
	unlink(path);
	return error;
}

static int read_text(const char *text)
{
	return read_from(text, strlen(text));
}

static bool admits(const char *authorization)
{
	return auth_token_admits(&token, authorization, strlen(authorization));
}

static void a_token_is_what_stands_in_the_file_without_the_line_end(void **state)
{
	(void)state;
	assert_int_equal(read_text("aZ09-._~+/==\r\n\n"), 0);
	assert_int_equal(token.length, 12);
	assert_memory_equal(token.text, "aZ09-._~+/==", 12);
	assert_int_equal(read_text("secret"), 0);
	assert_int_equal(token.length, 6);
}

static void a_file_without_a_token_is_refused(void **state)
{
	static char long_text[AUTH_TOKEN_BYTES_MAX + 1];
	static const char *const texts[] = {"two words", "a=b", "==", "\xc3\xa9", "one\ntwo\n"};

	(void)state;
	assert_int_equal(read_text(" \n"), -EINVAL);
	assert_string_equal(reason, "it is empty");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(read_text(texts[i]), -EINVAL);
		assert_string_equal(reason, "what is in it cannot be a bearer token");
	}
	assert_int_equal(read_from("a\0b", 3), -EINVAL);
	memset(long_text, 'a', sizeof(long_text));
	assert_int_equal(read_from(long_text, AUTH_TOKEN_BYTES_MAX), 0);
	assert_int_equal(read_from(long_text, sizeof(long_text)), -EFBIG);
	assert_int_equal(auth_token_read("/nowhere/at/all", &token, &reason), -ENOENT);
	assert_null(reason);
	assert_int_equal(auth_token_read("/", &token, &reason), -EISDIR);
}

static void only_the_very_token_is_admitted(void **state)
{
	static const char *const wrong[] = {
		"",
		"secret",
		"Bearer",
		"Bearer ",
		"Bearer secre",
		"Bearer secret1",
		"Bearer secretsecret",
		"Bearer Secret",
		"Bearer tecret",
		"Bearer secreu",
		"Bearer secret ",
		"Basic secret",
		"Bearersecret",
	};

	(void)state;
	assert_int_equal(read_text("secret\n"), 0);
	assert_true(admits("Bearer secret"));
	assert_true(admits("bearer   secret"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (admits(wrong[i]))
			fail_msg("admits '%s'", wrong[i]);
	assert_false(auth_token_admits(&token, "Bearer secret\0", 14));
	token = (struct auth_token){0};
	assert_false(admits("Bearer "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_what_stands_in_the_file_without_the_line_end),
		cmocka_unit_test(a_file_without_a_token_is_refused),
		cmocka_unit_test(only_the_very_token_is_admitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
