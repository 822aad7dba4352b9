#ifndef SERVER_TASKS_JSON_H
#define SERVER_TASKS_JSON_H

#include "handlers/text_buffer.h"
#include "server/stack_names.h"

/** Append a picture of the tasks of the executor called @name as one JSON object. @stacks is
 * scratch, @names are looked up. */
void tasks_json_append(struct text_buffer *out, const struct task_dump *dump, const char *name,
                       struct stack_table *stacks, struct stack_names *names);

#endif
