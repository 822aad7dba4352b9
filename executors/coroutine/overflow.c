#include "executors/coroutine/overflow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line, made without stdio: this runs in a signal handler. */
struct line {
	char text[256];
	size_t bytes;
};

static void append(struct line *line, const char *text)
{
	size_t bytes = strnlen(text, sizeof(line->text) - line->bytes);

	memcpy(line->text + line->bytes, text, bytes);
	line->bytes += bytes;
}

static void append_number(struct line *line, size_t number)
{
	char digits[24];
	char *first = digits + sizeof(digits) - 1;

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	append(line, first);
}

void overflow_say(const char *task_name, size_t stack_bytes)
{
	struct line line = {.bytes = 0};

	append(&line, "fanoutd: stack overflow in task \"");
	append(&line, task_name ? task_name : "?");
	append(&line, "\" (");
	append_number(&line, stack_bytes);
	append(&line, " bytes): raise --stack-bytes\n");
	(void)!write(STDERR_FILENO, line.text, line.bytes);
}

noreturn void overflow_abort(const char *task_name, size_t stack_bytes)
{
	overflow_say(task_name, stack_bytes);
	abort();
}
