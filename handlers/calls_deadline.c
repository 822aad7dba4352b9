#include "handlers/calls_deadline.h"

#define MS_NS INT64_C(1000000)

static const int64_t most_ns = 50 * MS_NS;
static const int64_t per_call_ns = 20000;

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

struct calls_deadlines calls_deadlines(int64_t arrival_ns, int64_t deadline_ms, size_t count)
{
	int64_t whole_ns = deadline_ms * MS_NS;
	int64_t reserve_ns = lesser(whole_ns / 10, most_ns) + (int64_t)count * per_call_ns;
	int64_t end_ns = arrival_ns + whole_ns;

	return (struct calls_deadlines){
		.calls = {end_ns - lesser(reserve_ns, whole_ns / 2)},
		.answer = {end_ns},
	};
}
