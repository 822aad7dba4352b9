#ifndef SERVER_TASKS_TEXT_H
#define SERVER_TASKS_TEXT_H

#include "handlers/text_buffer.h"
#include "server/stack_names.h"

/**
 * Append a picture of the tasks of the executor called @name as a tree for people. @stacks is
 * scratch, @names are looked up. Returns 0; -ENOMEM, with part of it appended.
 */
int tasks_text_append(struct text_buffer *out, const struct task_dump *dump, const char *name,
                      struct stack_table *stacks, struct stack_names *names);

#endif
