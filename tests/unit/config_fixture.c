#include "tests/unit/config_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

char config_error[CONFIG_ERROR_BYTES];
char config_path[32];

void config_write(const char *text, size_t bytes)
{
	static int fd = -1;

	if (fd >= 0)
		close(fd);
	fd = memfd_create("configuration", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	assert_true(snprintf(config_path, sizeof(config_path), "/proc/self/fd/%d", fd) > 0);
}

int config_parse_file(char *flag, char **environment, struct config *config)
{
	static char *arguments[5]; /* borrowed for as long as the configuration is used */

	memcpy(arguments, (char *[]){"fanoutd", "--config", config_path, flag, NULL},
	       sizeof(arguments));
	config_error[0] = '\0';
	return config_parse(flag ? 4 : 3, arguments, environment, config, config_error,
	                    sizeof(config_error));
}

void config_take(const char *text, char *flag, char **environment, struct config *config)
{
	int result;

	config_write(text, strlen(text));
	result = config_parse_file(flag, environment, config);
	assert_string_equal(config_error, "");
	assert_int_equal(result, 0);
}

void config_refuse_bytes(const char *text, size_t bytes, const char *rest)
{
	struct config config = {.max_n = 77};

	config_write(text, bytes);
	assert_int_equal(config_parse_file(NULL, NO_ENVIRONMENT, &config), -EINVAL);
	assert_int_equal(strncmp(config_error, config_path, strlen(config_path)), 0);
	assert_string_equal(config_error + strlen(config_path), rest);
	assert_int_equal(config.max_n, 77);
}

void config_refuse(const char *text, const char *rest)
{
	config_refuse_bytes(text, strlen(text), rest);
}
