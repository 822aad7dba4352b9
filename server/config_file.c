#include "server/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "executors/text_file.h"
#include "server/config_settings.h"

/* How much of a path, its end, fits into a line that says what is wrong. */
enum { PATH_SHOWN_BYTES = 160 };

/* ------ reading */

/* A block with the bytes of the file and a NUL; NULL with a negative errno in *@bytes. */
static char *read_file(const char *path, ssize_t *bytes)
{
	char *text = malloc(CONFIG_FILE_MAX_BYTES + 1);

	*bytes = text ? text_file_read(AT_FDCWD, path, text, CONFIG_FILE_MAX_BYTES + 1) : -ENOMEM;
	if (*bytes >= 0)
		return text;
	free(text);
	return NULL;
}

/* ------ parsing */

/* Where jansson stopped. What it did not expect has been read by then. */
static struct json_place place_of(const char *text, size_t bytes, const json_error_t *problem)
{
	size_t position = problem->position > 0 ? (size_t)problem->position : 0;

	switch (json_error_code(problem)) {
	case json_error_premature_end_of_input:
		return json_place_of_offset(text, bytes);
	case json_error_invalid_utf8:
		return json_place_of_offset(text, position < bytes ? position : bytes);
	default:
		return json_place_of_token(text, position);
	}
}

static void print_place(const char *path, struct json_place place, char *out, size_t out_bytes)
{
	size_t path_bytes = strlen(path);
	bool is_long = path_bytes > PATH_SHOWN_BYTES;

	(void)snprintf(out, out_bytes, "%s%s:%u:%u", is_long ? "..." : "",
	               is_long ? path + path_bytes - PATH_SHOWN_BYTES : path, place.line,
	               place.column);
}

static int load(struct config_file *file, size_t bytes, char *error, size_t error_bytes)
{
	char who[CONFIG_PLACE_BYTES];
	struct config_mistake mistake = {.who = who, .text = error, .text_bytes = error_bytes};
	json_error_t problem;

	file->root = json_loadb(file->text, bytes, JSON_REJECT_DUPLICATES, &problem);
	if (!file->root) {
		print_place(file->path, place_of(file->text, bytes, &problem), who, sizeof(who));
		/* jansson is silent about most of what it has no memory for. */
		return config_mistake(&mistake, "%s",
		                      problem.text[0] != '\0' ? problem.text : "out of memory");
	}
	if (!json_is_object(file->root)) {
		config_file_print_place(file, NULL, false, who, sizeof(who));
		return config_mistake(&mistake, "a configuration is an object");
	}
	return 0;
}

int config_file_parse(const char *path, char *text, size_t bytes, struct config_file **out,
                      char *error, size_t error_bytes)
{
	struct config_mistake mistake = {.who = path, .text = error, .text_bytes = error_bytes};
	struct config_file *file = calloc(1, sizeof(*file));
	int result;

	text[bytes] = '\0';
	if (!file) {
		free(text);
		return config_mistake(&mistake, "out of memory");
	}
	file->path = path;
	file->text = text;
	file->texts = json_array();
	if (file->texts)
		result = load(file, bytes, error, error_bytes);
	else
		result = config_mistake(&mistake, "out of memory");
	if (result < 0)
		config_file_close(file);
	else
		*out = file;
	return result;
}

int config_file_open(const char *path, struct config_file **out, char *error, size_t error_bytes)
{
	struct config_mistake mistake = {.who = path, .text = error, .text_bytes = error_bytes};
	ssize_t bytes;
	char *text = read_file(path, &bytes);

	if (text)
		return config_file_parse(path, text, (size_t)bytes, out, error, error_bytes);
	if (bytes == -EFBIG)
		return config_mistake(&mistake, "a configuration has at most %d bytes",
		                      CONFIG_FILE_MAX_BYTES);
	return config_mistake(&mistake, "cannot read it: %s", strerrordesc_np((int)-bytes));
}

void config_file_print_place(const struct config_file *file, const struct json_way *way,
                             bool of_key, char *out, size_t out_bytes)
{
	struct json_place place =
		of_key ? json_place_of_key(file->text, way) : json_place_of_value(file->text, way);

	print_place(file->path, place, out, out_bytes);
}

void config_file_close(struct config_file *file)
{
	if (!file)
		return;
	json_decref(file->root);
	json_decref(file->texts);
	free(file->text);
	free(file);
}

const char *config_file_text(struct config_file *file, const json_t *value)
{
	char *dumped;
	json_t *text;

	if (json_is_string(value))
		return json_string_value(value);
	dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	text = dumped ? json_string(dumped) : NULL;
	free(dumped);
	/* Consumes it, also on failure. */
	return json_array_append_new(file->texts, text) == 0 ? json_string_value(text) : NULL;
}
