#include "server/slow_endpoint_parameters.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clients/span.h"
#include "executors/decimal.h"

enum { NAME_SHOWN_BYTES = 32 };

static const struct number_parameter {
	const char *name;
	size_t offset; /* of a uint32_t in struct slow_parameters */
	uint32_t min, max;
} numbers[] = {
	{"ms", offsetof(struct slow_parameters, ms), 0, 600000},
	{"bytes", offsetof(struct slow_parameters, bytes), 0, UINT32_C(1) << 30},
	{"status", offsetof(struct slow_parameters, status), 200, 599},
	{"jitter_ms", offsetof(struct slow_parameters, jitter_ms), 0, 600000},
	{"chunked", offsetof(struct slow_parameters, chunked), 0, 1},
	{"rate", offsetof(struct slow_parameters, rate), 1, 1000000},
	{"retry_after", offsetof(struct slow_parameters, retry_after), 1, 86400},
	{"slow_percent", offsetof(struct slow_parameters, slow_percent), 0, 100},
	{"slow_ms", offsetof(struct slow_parameters, slow_ms), 0, 600000},
	{"fail_percent", offsetof(struct slow_parameters, fail_percent), 0, 100},
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
	SEEN_MS = 1u << 0, /* ms is numbers[0] */
	SEEN_FAULT = 1u << NUMBERS,
};

static const char *const fault_names[] = {
	[SLOW_FAULT_RESET] = "reset",
	[SLOW_FAULT_STALL] = "stall",
	[SLOW_FAULT_CLOSE] = "close",
	[SLOW_FAULT_GARBAGE] = "garbage",
};

__attribute__((format(printf, 2, 3))) static int refuse(char text[SLOW_REFUSAL_TEXT_BYTES],
                                                        const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, SLOW_REFUSAL_TEXT_BYTES, format, arguments);
	va_end(arguments);
	assert(length >= 0 && length < SLOW_REFUSAL_TEXT_BYTES);
	return -EINVAL;
}

static int set_number(struct slow_parameters *parameters, const struct number_parameter *parameter,
                      struct span value, char text[SLOW_REFUSAL_TEXT_BYTES])
{
	uint64_t number;
	uint32_t narrow;

	if (!decimal_read(value.data, value.length, &number) || number < parameter->min ||
	    number > parameter->max)
		return refuse(text, "%s: must be a whole number from %u to %u\n", parameter->name,
		              parameter->min, parameter->max);
	narrow = (uint32_t)number;
	memcpy((char *)parameters + parameter->offset, &narrow, sizeof(narrow));
	return 0;
}

static int set_fault(struct slow_parameters *parameters, struct span value,
                     char text[SLOW_REFUSAL_TEXT_BYTES])
{
	for (unsigned fault = SLOW_FAULT_RESET; fault <= SLOW_FAULT_GARBAGE; fault++) {
		if (span_is(value, fault_names[fault])) {
			parameters->fault = (enum slow_fault)fault;
			return 0;
		}
	}
	return refuse(text, "fault: must be reset, stall, close or garbage\n");
}

/* One name=value. @seen has a bit for each parameter that came before. */
static int set_parameter(struct slow_parameters *parameters, struct span name, struct span value,
                         unsigned *seen, char text[SLOW_REFUSAL_TEXT_BYTES])
{
	int shown = name.length < NAME_SHOWN_BYTES ? (int)name.length : NAME_SHOWN_BYTES;
	unsigned index = 0;
	unsigned bit;

	while (index < NUMBERS && !span_is(name, numbers[index].name))
		index++;
	if (index == NUMBERS && !span_is(name, "fault"))
		return refuse(text, "%.*s: unknown parameter\n", shown, name.data);
	bit = 1u << index;
	if (*seen & bit)
		return refuse(text, "%.*s: given twice\n", shown, name.data);
	*seen |= bit;
	if (bit == SEEN_FAULT)
		return set_fault(parameters, value, text);
	return set_number(parameters, &numbers[index], value, text);
}

int slow_parameters_parse(struct slow_parameters *parameters, const char *query, size_t length,
                          char text[SLOW_REFUSAL_TEXT_BYTES])
{
	struct span rest = {query, length};
	unsigned seen = 0;

	*parameters = (struct slow_parameters){.bytes = 2, .status = 200, .fail_percent = 100};
	while (rest.length > 0) {
		struct span value = span_next_part(&rest, '&');
		struct span name = span_next_part(&value, '=');
		int error = set_parameter(parameters, name, value, &seen, text);

		if (error)
			return error;
	}
	if (!(seen & SEEN_MS))
		return refuse(text, "ms: missing\n");
	return 0;
}
