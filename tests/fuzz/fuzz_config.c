#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/config.h"
#include "tests/fuzz/fuzz.h"

/*
 * Configuration files: what is refused is told in one line with a place that is in the
 * file, and what is taken is taken again, and can be printed without its secrets.
 */

#define SECRET "s3cret"

static char path[32]; /* of the one file */
static int file = -1;

static void write_file(const uint8_t *bytes, size_t size)
{
	if (file < 0) {
		file = memfd_create("configuration", MFD_CLOEXEC);
		assert(file >= 0);
		assert(snprintf(path, sizeof(path), "/proc/self/fd/%d", file) > 0);
	}
	assert(ftruncate(file, 0) == 0);
	assert(pwrite(file, bytes, size, 0) == (ssize_t)size);
}

/* The byte of the file that "PATH:LINE:COLUMN: …" is about, or its end, is there. */
static void check_place(const char *error, const char *bytes, size_t size)
{
	unsigned line = 0, column = 0;
	const char *end = bytes + size;
	size_t length;

	assert(strncmp(error, path, strlen(path)) == 0);
	assert(sscanf(error + strlen(path), ":%u:%u: ", &line, &column) == 2);
	assert(line >= 1 && column >= 1);
	for (; line > 1; line--) {
		bytes = memchr(bytes, '\n', (size_t)(end - bytes));
		assert(bytes);
		bytes++;
	}
	length = (size_t)(end - bytes);
	assert(column - 1 <= length);
	assert(!memchr(bytes, '\n', column - 1));
}

static void check_line(const char *error)
{
	assert(error[0] != '\0' && strlen(error) < CONFIG_ERROR_BYTES);
	assert(!strpbrk(error, "\r\n") && !strstr(error, SECRET));
}

static void check_print(const struct config *config)
{
	static char text[1 << 20];
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert(out);
	(void)config_print(config, out);
	(void)fclose(out);
	text[sizeof(text) - 1] = '\0';
	assert(!strstr(text, SECRET));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *arguments[] = {"fanoutd", "--config", path, "--slow-listen=127.0.0.1:0", NULL};
	char *environment[] = {"TOKEN=" SECRET, "BAD=" SECRET "\n", NULL};
	char error[CONFIG_ERROR_BYTES] = "";
	struct config config, again;

	write_file(bytes, size);
	if (config_parse(4, arguments, environment, &config, error, sizeof(error)) != 0) {
		check_line(error);
		check_place(error, (const char *)bytes, size);
		return 0;
	}
	assert(config_parse_again(&config, &again, error, sizeof(error)) == 0);
	assert(config.upstream_count == again.upstream_count);
	check_print(&config);
	config_finish(&again);
	config_finish(&config);
	return 0;
}
