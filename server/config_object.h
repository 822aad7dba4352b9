#ifndef SERVER_CONFIG_OBJECT_H
#define SERVER_CONFIG_OBJECT_H

#include <stdbool.h>
#include <stdio.h>

#include "server/config_file.h"
#include "server/config_settings.h"

/*
 * Objects in the file, and the structs that are made of them: a table says for each key
 * what its value is and which field it goes to. Only the server/config*.c files use it.
 */

/** What reading goes by. All borrowed. */
struct config_reader {
	struct config_file *file;
	char *const *environment; /* a list like environ */
	char *error;              /* where a mistake is written */
	size_t error_bytes;
};

enum { CONFIG_WHO_BYTES = 160 };

/** A value of the file. */
struct config_value {
	const json_t *json;
	struct json_way way;
	char who[CONFIG_WHO_BYTES]; /* "upstreams.stock.permits" */
};

struct config_member {
	const char *key; /* NULL: the end of a table */
	const struct config_kind *kind;
	size_t offset;                       /* of the field, in the struct of the table */
	unsigned minimum, maximum;           /* of a number */
	const char *if_zero;                 /* what a field means that is not set, for people */
	const struct config_member *members; /* of an object: its own table, for printing */
};

struct config_kind {
	/** Check @value and put it in @target, the struct. Returns 0, or -EINVAL with the mistake
	 * written. What it allocates is the target's. */
	int (*take)(const struct config_reader *reader, const struct config_member *member,
	            const struct config_value *value, void *target);
	/** Write "WHO = VALUE (SOURCE)" of what is in @target; @in_file: NULL, or the value there.
	 */
	void (*print)(FILE *out, const char *who, const struct config_member *member,
	              const json_t *in_file, const void *target);
};

extern const struct config_kind config_count;  /* unsigned */
extern const struct config_kind config_switch; /* bool */
extern const struct config_kind config_string; /* const char *, borrowed */

/** Member @index of @parent, whose key is @key; NULL: an element of an array. */
struct config_value config_value_within(const struct config_value *parent, const char *key,
                                        const json_t *json, size_t index);

/** For config_mistake(): of @value, or of its key. Both borrowed. */
struct config_mistake config_mistake_of(const struct config_reader *reader,
                                        const struct config_value *value, bool of_key);

/** Take each member of the object @value into @target by the table @members; the fields of the
 * others stay. Returns 0; -EINVAL, also for a key that is not in the table. */
int config_object_take(const struct config_reader *reader, const struct config_member *members,
                       const struct config_value *value, void *target);

/** For a kind of such objects that can be left out; the field is the struct. */
void config_object_print_field(FILE *out, const char *who, const struct config_member *member,
                               const json_t *in_file, const void *target);

/** Write a line for each row of @members: what is in @target, and whether @in_file, an object or
 * NULL, has it. */
void config_object_print(FILE *out, const char *who, const struct config_member *members,
                         const json_t *in_file, const void *target);

#endif
