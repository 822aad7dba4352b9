#include "handlers/fanout_summary.h"

#include <assert.h>
#include <stdlib.h>

uint64_t fanout_summary_bytes(size_t count)
{
	/* Twice: qsort() sorts in a copy. */
	return sizeof(struct fanout_summary) + 2 * (uint64_t)count * sizeof(int64_t);
}

struct fanout_summary *fanout_summary_create(size_t count)
{
	struct fanout_summary *summary =
		calloc(1, sizeof(*summary) + count * sizeof(summary->elapsed_ns[0]));

	if (summary)
		summary->requested = count;
	return summary;
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

void fanout_summary_fill(struct fanout_summary *summary, const struct fanout_calls *calls)
{
	assert(summary->requested == calls->count && summary->whole == 0);
	for (size_t i = 0; i < calls->count; i++) {
		const struct fanout_call *call = &calls->each[i];

		summary->errors[call->outcome]++;
		if (call->outcome != HTTP_OK)
			continue;
		summary->elapsed_ns[summary->whole++] = call->elapsed_ns;
		summary->statuses[call->status]++;
		summary->ok += call->status >= 200 && call->status <= 299;
	}
	qsort(summary->elapsed_ns, summary->whole, sizeof(summary->elapsed_ns[0]), compare);
}

bool fanout_summary_is_overload(const struct fanout_summary *summary)
{
	size_t turned_away = summary->errors[HTTP_NO_PERMIT] + summary->errors[FANOUT_REJECTED];

	return turned_away == summary->requested;
}

int64_t nearest_rank(const int64_t *sorted, size_t count, unsigned percent)
{
	/* ceil(percent/100 × count), in whole numbers; rank 1 is the first. */
	size_t rank = (count * percent + 99) / 100;

	assert(count > 0 && percent <= 100);
	return sorted[rank > 0 ? rank - 1 : 0];
}
