#include "executors/decimal.h"

bool decimal_read(const char *text, size_t length, uint64_t *out)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
			return false;
	}
	if (length == 0)
		return false;
	*out = number;
	return true;
}
