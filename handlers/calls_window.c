#include "handlers/calls_window.h"

#include <stdint.h>

enum { GUESSED_BYTES = 64 << 10, GUESS_WEIGHT = 16, LEAST_BYTES = 1 << 10 };

void calls_window_init(struct calls_window *window, size_t bytes)
{
	*window = (struct calls_window){bytes, GUESS_WEIGHT, (size_t)GUESS_WEIGHT * GUESSED_BYTES};
}

void calls_window_add(struct calls_window *window, size_t reply_bytes)
{
	window->seen++;
	window->seen_bytes += reply_bytes + LEAST_BYTES;
}

size_t calls_window_limit(const struct calls_window *window)
{
	size_t limit;

	if (window->bytes == 0)
		return SIZE_MAX;
	limit = window->bytes / (window->seen_bytes / window->seen);
	return limit > 0 ? limit : 1;
}
