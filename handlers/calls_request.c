#include "handlers/calls_request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/json_survey.h"

struct reader {
	struct calls_request *request;
	const struct calls_bounds *bounds;
	struct calls_violation *violation;
	const json_t *entries; /* NULL: not read yet */
};

/* The violation is of @key, or with NULL of the whole. */
static void point_to(const struct reader *reader, const char *key)
{
	reader->violation->pointer = (struct json_pointer){0};
	if (key)
		json_pointer_add_member(&reader->violation->pointer, key, strlen(key));
}

#define REFUSE(reader, key, ...)                                                                   \
	(point_to(reader, key), calls_violate((reader)->violation, __VA_ARGS__))

static int read_integer(const struct reader *reader, const char *key, const json_t *value,
                        int64_t min, int64_t max, int64_t *out)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < min || number > max)
		return REFUSE(reader, key, "must be a whole number from %lld to %lld",
		              (long long)min, (long long)max);
	*out = number;
	return 0;
}

static int read_requests(struct reader *reader, const json_t *value)
{
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count == 0 || count > reader->bounds->max_n)
		return REFUSE(reader, "requests", "must be an array of 1 to %u calls",
		              reader->bounds->max_n);
	reader->entries = value;
	reader->request->count = count;
	return 0;
}

static int read_deadline(struct reader *reader, const json_t *value)
{
	return read_integer(reader, "deadline_ms", value, 1, reader->bounds->deadline_ms,
	                    &reader->request->deadline_ms);
}

static int read_max_parallel(struct reader *reader, const json_t *value)
{
	int64_t number = 0;
	int error = read_integer(reader, "max_parallel", value, 0, reader->bounds->max_n, &number);

	reader->request->max_parallel = (unsigned)number;
	return error;
}

/* The place of a string among @words; -1: it is none of them, or no string. */
static int find_word(const json_t *value, const char *const *words, int count)
{
	const char *text = json_string_value(value);
	int found = text ? count - 1 : -1;

	while (found >= 0 && strcmp(text, words[found]) != 0)
		found--;
	return found;
}

static int read_policy(struct reader *reader, const json_t *value)
{
	static const char *const policies[] = {"all", "first", "fail_fast", "quorum"};
	int found = find_word(value, policies, 4);

	if (found < 0)
		return REFUSE(reader, "policy", "must be all, first, fail_fast or quorum");
	reader->request->policy = (enum calls_policy)found;
	return 0;
}

static int read_quorum(struct reader *reader, const json_t *value)
{
	int64_t number = 0;
	int error = read_integer(reader, "quorum", value, 1, reader->bounds->max_n, &number);

	reader->request->quorum = (unsigned)number;
	return error;
}

static int read_order(struct reader *reader, const json_t *value)
{
	static const char *const orders[] = {"input", "completion"};
	int found = find_word(value, orders, 2);

	if (found < 0)
		return REFUSE(reader, "order", "must be input or completion");
	reader->request->by_completion = found == 1;
	reader->request->has_order = true;
	return 0;
}

static const struct member {
	const char *key;
	int (*read)(struct reader *reader, const json_t *value);
} members[] = {
	{"requests", read_requests},
	{"deadline_ms", read_deadline},
	{"max_parallel", read_max_parallel},
	{"policy", read_policy},
	{"quorum", read_quorum},
	{"order", read_order},
};

static int read_member(struct reader *reader, const char *key, const json_t *value)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strcmp(key, members[i].key) == 0)
			return members[i].read(reader, value);
	return REFUSE(reader, key, "is not a member of a list of calls");
}

/* What no member says alone. */
static int check(const struct reader *reader)
{
	const struct calls_request *request = reader->request;

	if (!reader->entries)
		return REFUSE(reader, NULL, "requests is missing");
	if (request->policy == CALLS_QUORUM && request->quorum == 0)
		return REFUSE(reader, NULL, "quorum is missing");
	if (request->policy != CALLS_QUORUM && request->quorum > 0)
		return REFUSE(reader, "quorum", "goes with the policy quorum");
	if (request->quorum > request->count)
		return REFUSE(reader, "quorum", "must be no more than there are calls");
	return 0;
}

static int read_members(struct reader *reader)
{
	json_t *root = reader->request->json.tree;

	if (!json_is_object(root))
		return REFUSE(reader, NULL, "must be an object");
	for (void *at = json_object_iter(root); at; at = json_object_iter_next(root, at)) {
		int error =
			read_member(reader, json_object_iter_key(at), json_object_iter_value(at));

		if (error)
			return error;
	}
	return check(reader);
}

static int read_entries(struct reader *reader)
{
	struct calls_request *request = reader->request;

	assert(request->count > 0); /* read_requests() has seen to that */
	request->bytes += request->count * sizeof(*request->entries);
	if (request->bytes > reader->bounds->memory_bytes)
		return -ENOBUFS;
	request->entries = malloc(request->count * sizeof(*request->entries));
	if (!request->entries)
		return -ENOMEM;
	for (size_t i = 0; i < request->count; i++) {
		int error = calls_entry_read(json_array_get(reader->entries, i), i,
		                             reader->bounds->call_timeout_ms, &request->entries[i],
		                             reader->violation);

		if (error)
			return error;
	}
	return 0;
}

/* It has stopped at a byte: say what is there. */
static int refuse_syntax(const char *text, const json_error_t *error,
                         struct calls_violation *violation)
{
	size_t offset = error->position > 0 ? (size_t)error->position : 0;

	json_pointer_of_offset(text, offset, &violation->pointer);
	switch (json_error_code(error)) {
	case json_error_unknown: /* all else has a code */
	case json_error_out_of_memory:
		return -ENOMEM;
	case json_error_duplicate_key:
		return calls_violate(violation, "is given twice");
	case json_error_invalid_utf8:
		return calls_violate(violation, "is not UTF-8");
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return calls_violate(violation, "has a NUL");
	case json_error_numeric_overflow:
		return calls_violate(violation, "is a number too large");
	default:
		return calls_violate(violation, "is not JSON: line %d, column %d", error->line,
		                     error->column);
	}
}

static int parse(const char *text, size_t length, const struct calls_bounds *bounds,
                 struct calls_request *request, struct calls_violation *violation)
{
	struct json_survey survey = json_survey(text, length);
	json_error_t error;

	if (survey.depth > CALLS_MAX_DEPTH) {
		json_pointer_of_offset(text, survey.deepest_at, &violation->pointer);
		return calls_violate(violation, "is nested more than %d deep", CALLS_MAX_DEPTH);
	}
	request->bytes = survey.tree_bytes;
	if (request->bytes > bounds->memory_bytes)
		return -ENOBUFS;
	if (!json_arena_load(&request->json, text, length, JSON_REJECT_DUPLICATES, &error))
		return refuse_syntax(text, &error, violation);
	if (request->bytes < request->json.bytes)
		request->bytes = request->json.bytes;
	return 0;
}

int calls_request_read(const char *text, size_t length, const struct calls_bounds *bounds,
                       struct calls_request *out, struct calls_violation *violation)
{
	struct calls_request request = {0};
	struct reader reader = {&request, bounds, violation, NULL};
	int error;

	*violation = (struct calls_violation){0};
	error = parse(text, length, bounds, &request, violation);
	if (!error)
		error = read_members(&reader);
	if (!error)
		error = read_entries(&reader);
	if (error) {
		calls_request_finish(&request);
		return error;
	}
	*out = request;
	return 0;
}

void calls_request_finish(struct calls_request *request)
{
	free(request->entries);
	json_arena_finish(&request->json);
	*request = (struct calls_request){0};
}
