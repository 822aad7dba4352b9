#ifndef TESTS_UNIT_JSON_SCHEMA_H
#define TESTS_UNIT_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

/**
 * Whether @value is what @schema says: that part of JSON Schema 2020-12 which a schema of ours has
 * (json_schema.c lists the words). @root is what its "#/$defs/…" stand in. Patterns are taken for
 * POSIX's extended ones. A word that is not known fails the test.
 */
bool json_schema_admits(const json_t *root, const json_t *schema, const json_t *value);

#endif
