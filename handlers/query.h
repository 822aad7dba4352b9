#ifndef HANDLERS_QUERY_H
#define HANDLERS_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The query of a URL, read strictly against a table of what a handler knows.
 *
 *	name=value&name=value
 *
 * Names and values are percent-decoded once; `+` is a plus. Every part has an
 * `=` and a value, no part is empty, a name comes once, and no name is unknown:
 * a typing error is answered, never ignored.
 */
enum query_kind {
	QUERY_INTEGER, /* decimal digits alone; leading zeros are allowed and mean nothing */
	QUERY_WORD,    /* one of a list */
};

struct query_parameter {
	/* The handler's. Texts are borrowed. */
	const char *name; /* shorter than QUERY_NAME_BYTES */
	enum query_kind kind;
	bool required;
	uint64_t min, max;        /* QUERY_INTEGER: both included */
	const char *const *words; /* QUERY_WORD: NULL at the end */
	const char *refused; /* why it cannot be given, "needs --experiments"; NULL if it can */

	/* What the handler puts here beforehand is the default. */
	uint64_t number;
	const char *word; /* the one in @words */

	bool given; /* set by query_read(); zero it before */
};

enum { QUERY_NAME_BYTES = 64, QUERY_TEXT_BYTES = 224 };

/** The first thing that is wrong with a query. Both texts are ASCII. */
struct query_error {
	char parameter[QUERY_NAME_BYTES]; /* as it was sent, shortened; "" if it had no name */
	char text[QUERY_TEXT_BYTES];      /* "n must be a whole number from 1 to 100000" */
};

/**
 * Read @query, without the '?', into the @count parameters of the table.
 *
 * Any thread; allocates nothing. Returns 0, or -EINVAL with @error filled; then
 * what the table holds is undefined.
 */
int query_read(const char *query, struct query_parameter *parameters, size_t count,
               struct query_error *error);

/**
 * Look at one parameter before the handler reads them all: copy the decoded
 * value of the first @name to @value, of @size bytes, with a NUL.
 *
 * Returns 0; -ENOENT it is not there; -EINVAL it has no value, a bad
 * percent-escape, or does not fit: query_read() will refuse it. @value is "" then.
 */
int query_peek(const char *query, const char *name, char *value, size_t size);

#endif
