#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/config.h"
#include "tests/fuzz/fuzz.h"

/*
 * Configuration files: what is refused is told in one line with a place that is in the
 * file, and what is taken can be printed. Neither says anything of the secrets that the file
 * takes from the environment: with others it is the same.
 */

struct outcome {
	bool is_taken;
	char error[CONFIG_ERROR_BYTES];
	char *printed; /* NULL: refused */
	size_t printed_bytes;
};

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
	assert(!strpbrk(error, "\r\n"));
}

static void print(const struct config *config, struct outcome *outcome)
{
	FILE *out = open_memstream(&outcome->printed, &outcome->printed_bytes);

	assert(out);
	assert(config_print(config, out) == 0);
	assert(fclose(out) == 0);
	for (size_t i = 0; i < outcome->printed_bytes; i++)
		assert(outcome->printed[i] == '\n' || !iscntrl((unsigned char)outcome->printed[i]));
}

static void parse(char **environment, struct outcome *outcome)
{
	static char *arguments[] = {"fanoutd", "--config", path, NULL};
	struct config config;

	*outcome = (struct outcome){0};
	outcome->is_taken = config_parse(3, arguments, environment, &config, outcome->error,
	                                 sizeof(outcome->error)) == 0;
	if (!outcome->is_taken)
		return;
	print(&config, outcome);
	config_finish(&config);
}

static void check_error(const char *error, const char *bytes, size_t size)
{
	check_line(error);
	if (strncmp(error, path, strlen(path)) == 0)
		check_place(error, bytes, size);
	else /* the file is right, and leaves nothing to call */
		assert(strncmp(error, "--upstream: ", strlen("--upstream: ")) == 0);
}

static void compare(const struct outcome *one, const struct outcome *other)
{
	assert(one->is_taken == other->is_taken);
	assert(strcmp(one->error, other->error) == 0);
	assert(one->printed_bytes == other->printed_bytes);
	assert(!one->printed || memcmp(one->printed, other->printed, one->printed_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct outcome one, other;

	write_file(bytes, size);
	parse((char *[]){"TOKEN=s3cret", "BAD=s3cret\n", NULL}, &one);
	parse((char *[]){"TOKEN=an0ther", "BAD=an0ther\t", NULL}, &other);
	if (!one.is_taken)
		check_error(one.error, (const char *)bytes, size);
	compare(&one, &other);
	free(one.printed);
	free(other.printed);
	return 0;
}
