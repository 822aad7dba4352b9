#ifndef SERVER_SLOW_ENDPOINT_PARAMETERS_H
#define SERVER_SLOW_ENDPOINT_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

/* The query of /slow. Values are plain digits and words: nothing is percent-decoded. */

enum slow_fault {
	SLOW_FAULT_NONE,
	SLOW_FAULT_RESET,   /* a TCP reset instead of an answer */
	SLOW_FAULT_STALL,   /* the head and half of the body, then nothing */
	SLOW_FAULT_CLOSE,   /* the connection ends without an answer */
	SLOW_FAULT_GARBAGE, /* bytes that are not HTTP */
};

struct slow_parameters {
	uint32_t ms;        /* 0 … 600000; the one that must be given */
	uint32_t jitter_ms; /* 0 … 600000, the most that is added to ms; default 0 */
	uint32_t bytes;     /* of body, up to 1 GiB; default 2 */
	uint32_t status;    /* 200 … 599; default 200 */
	uint32_t rate;      /* requests a second, 1 … 1000000; default 0, which is no limit */
	uint32_t chunked;   /* 1 for chunked transfer encoding; default 0 */
	enum slow_fault fault;
	uint32_t retry_after; /* seconds, 1 … 86400, for a Retry-After; default 0, which is none */
	/* How many of the requests, spread evenly, take slow_ms instead of ms; and how many get
	 * what status, fault and retry_after say: the others are answered 200. 0 … 100. */
	uint32_t slow_percent; /* default 0 */
	uint32_t slow_ms;      /* 0 … 600000; default 0 */
	uint32_t fail_percent; /* default 100 */
};

enum { SLOW_REFUSAL_TEXT_BYTES = 128 };

/**
 * Read @length bytes of query, without the '?'.
 *
 * Returns 0; -EINVAL a parameter is missing, empty, given twice, unknown, not a plain
 * number or out of range: then @text says which and why, and @parameters is undefined.
 */
int slow_parameters_parse(struct slow_parameters *parameters, const char *query, size_t length,
                          char text[SLOW_REFUSAL_TEXT_BYTES]);

#endif
