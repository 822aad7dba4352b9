#include "handlers/query.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "executors/decimal.h"

/* A stretch of the query, still encoded. */
struct span {
	const char *data;
	size_t length;
};

/* One part of the query, decoded. */
struct pair {
	struct span sent; /* the name as it was sent */
	char name[QUERY_NAME_BYTES];
	char value[QUERY_NAME_BYTES];
};

__attribute__((format(printf, 2, 3))) static int refuse(struct query_error *error,
                                                        const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	assert(length >= 0 && (size_t)length < sizeof(error->text));
	return -EINVAL;
}

/* Names are shown as they were sent; what is not printable ASCII is encoded, so that any name is
 * valid text. */
static void show_name(char *shown, size_t size, struct span name)
{
	static const char cut[] = "...";
	static const char hex[] = "0123456789ABCDEF";
	size_t at = 0;

	for (size_t i = 0; i < name.length; i++) {
		unsigned char byte = (unsigned char)name.data[i];

		if (at + 3 + sizeof(cut) > size) {
			memcpy(shown + at, cut, sizeof(cut));
			return;
		}
		if (byte > ' ' && byte < 0x7f) {
			shown[at++] = (char)byte;
			continue;
		}
		shown[at++] = '%';
		shown[at++] = hex[byte >> 4];
		shown[at++] = hex[byte & 15];
	}
	shown[at] = '\0';
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The byte at *@at, decoded; *@at moves past it. -EINVAL for a bad escape or a NUL. */
static int next_byte(struct span encoded, size_t *at)
{
	int high, low;

	if (encoded.data[*at] != '%')
		return (unsigned char)encoded.data[(*at)++];
	if (encoded.length - *at < 3)
		return -EINVAL;
	high = hex_digit(encoded.data[*at + 1]);
	low = hex_digit(encoded.data[*at + 2]);
	if (high < 0 || low < 0 || high + low == 0)
		return -EINVAL;
	*at += 3;
	return high << 4 | low;
}

/* 0; -EINVAL as above; -ENAMETOOLONG over @size bytes. @decoded is "" on failure. */
static int decode(struct span encoded, char *decoded, size_t size)
{
	size_t at = 0, length = 0;

	while (at < encoded.length) {
		int byte = next_byte(encoded, &at);

		if (byte < 0 || length + 1 >= size) {
			decoded[0] = '\0';
			return byte < 0 ? byte : -ENAMETOOLONG;
		}
		decoded[length++] = (char)byte;
	}
	decoded[length] = '\0';
	return 0;
}

/* The part at *@query, which moves on to the next one; NULL after the last. */
static struct span next_part(const char **query)
{
	struct span part = {*query, strcspn(*query, "&")};

	*query = part.data[part.length] == '&' ? part.data + part.length + 1 : NULL;
	return part;
}

/* Split @part at its '='. False if there is none. */
static bool split(struct span part, struct span *name, struct span *value)
{
	const char *equals = memchr(part.data, '=', part.length);

	*name = part;
	if (!equals)
		return false;
	name->length = (size_t)(equals - part.data);
	*value = (struct span){equals + 1, part.length - name->length - 1};
	return true;
}

static int read_pair(struct span part, struct pair *pair, struct query_error *error)
{
	struct span value;
	bool has_value = split(part, &pair->sent, &value);
	int wrong;

	show_name(error->parameter, sizeof(error->parameter), pair->sent);
	if (part.length == 0)
		return refuse(error, "the query has an empty part");
	if (pair->sent.length == 0)
		return refuse(error, "a value in the query has no name");
	if (!has_value)
		return refuse(error, "%s has no '=' and value", error->parameter);
	if (decode(pair->sent, pair->name, sizeof(pair->name)) == -EINVAL)
		return refuse(error, "the name %s has a bad percent-escape", error->parameter);
	wrong = decode(value, pair->value, sizeof(pair->value));
	if (wrong == -EINVAL)
		return refuse(error, "%s has a bad percent-escape", error->parameter);
	if (wrong)
		return refuse(error, "%s has too long a value", error->parameter);
	return 0;
}

static int set_number(struct query_parameter *parameter, const char *value,
                      struct query_error *error)
{
	if (decimal_read(value, strlen(value), &parameter->number) &&
	    parameter->number >= parameter->min && parameter->number <= parameter->max)
		return 0;
	return refuse(error, "%s must be a whole number from %llu to %llu", parameter->name,
	              (unsigned long long)parameter->min, (unsigned long long)parameter->max);
}

/* "executor must be coroutine, pool or thread" */
static int refuse_word(const struct query_parameter *parameter, struct query_error *error)
{
	size_t at;

	(void)refuse(error, "%s must be ", parameter->name);
	at = strlen(error->text);
	for (const char *const *word = parameter->words; *word; word++) {
		const char *before = word == parameter->words ? "" : word[1] ? ", " : " or ";
		int length =
			snprintf(error->text + at, sizeof(error->text) - at, "%s%s", before, *word);

		assert(length >= 0 && (size_t)length < sizeof(error->text) - at);
		at += (size_t)length;
	}
	return -EINVAL;
}

static int set_word(struct query_parameter *parameter, const char *value, struct query_error *error)
{
	for (const char *const *word = parameter->words; *word; word++) {
		if (strcmp(value, *word) == 0) {
			parameter->word = *word;
			return 0;
		}
	}
	return refuse_word(parameter, error);
}

static int set(struct query_parameter *parameter, const char *value, struct query_error *error)
{
	if (parameter->refused)
		return refuse(error, "%s %s", parameter->name, parameter->refused);
	if (parameter->given)
		return refuse(error, "%s is given twice", parameter->name);
	parameter->given = true;
	if (*value == '\0')
		return refuse(error, "%s is empty", parameter->name);
	if (parameter->kind == QUERY_WORD)
		return set_word(parameter, value, error);
	return set_number(parameter, value, error);
}

static struct query_parameter *find(struct query_parameter *parameters, size_t count,
                                    const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(parameters[i].name, name) == 0)
			return &parameters[i];
	return NULL;
}

static int read_part(struct span part, struct query_parameter *parameters, size_t count,
                     struct query_error *error)
{
	struct query_parameter *parameter;
	struct pair pair = {0};

	if (read_pair(part, &pair, error))
		return -EINVAL;
	parameter = find(parameters, count, pair.name);
	if (!parameter)
		return refuse(error, "%s is not a parameter of this path", error->parameter);
	show_name(error->parameter, sizeof(error->parameter),
	          (struct span){parameter->name, strlen(parameter->name)});
	return set(parameter, pair.value, error);
}

int query_read(const char *query, struct query_parameter *parameters, size_t count,
               struct query_error *error)
{
	const char *rest = *query ? query : NULL;

	while (rest)
		if (read_part(next_part(&rest), parameters, count, error))
			return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct span name = {parameters[i].name, strlen(parameters[i].name)};

		if (!parameters[i].required || parameters[i].given)
			continue;
		show_name(error->parameter, sizeof(error->parameter), name);
		return refuse(error, "%s is missing", parameters[i].name);
	}
	return 0;
}

int query_peek(const char *query, const char *name, char *value, size_t size)
{
	const char *rest = query;
	char decoded[QUERY_NAME_BYTES];
	struct span sent_name, sent_value;

	assert(size > 0 && strlen(name) < sizeof(decoded));
	*value = '\0';
	while (rest) {
		bool has_value = split(next_part(&rest), &sent_name, &sent_value);

		if (decode(sent_name, decoded, sizeof(decoded)) || strcmp(decoded, name) != 0)
			continue;
		if (!has_value || sent_value.length == 0 || decode(sent_value, value, size))
			return -EINVAL;
		return 0;
	}
	return -ENOENT;
}
