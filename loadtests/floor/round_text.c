#include "loadtests/floor/round_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

size_t round_text_write(const struct bare_round *round, char text[ROUND_TEXT_BYTES])
{
	double calls = round->calls, wall_ns = (double)round->wall_ns;
	int length =
		snprintf(text, ROUND_TEXT_BYTES,
	                 "{\"client\":\"floor\",\"n\":%u,\"delay_ms\":%u,\"ok\":%u,"
	                 "\"failed\":%u,\"elapsed_ms\":%.3f,\"cpu_us_per_call\":%.3f,"
	                 "\"calls_per_s\":%.0f,\"connections_opened\":%u,",
	                 round->calls, round->delay_ms, round->ok, round->failed, wall_ns / 1e6,
	                 (double)round->cpu_ns / 1e3 / calls, calls * 1e9 / wall_ns, round->opened);
	size_t left = ROUND_TEXT_BYTES - (size_t)length;
	int last = round->delay_ms > 0
	                   ? snprintf(text + length, left, "\"rss_kib_per_call\":%.3f}\n",
	                              (double)round->rss_bytes / 1024 / calls)
	                   : snprintf(text + length, left, "\"rss_kib_per_call\":null}\n");

	assert(length > 0 && last > 0 && (size_t)last < left);
	return (size_t)length + (size_t)last;
}
