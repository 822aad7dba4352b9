#include "handlers/batch_summary.h"

#include <assert.h>
#include <stdlib.h>

uint64_t batch_summary_bytes(size_t count)
{
	/* Twice: qsort() sorts in a copy. */
	return sizeof(struct batch_summary) + 2 * (uint64_t)count * sizeof(int64_t);
}

struct batch_summary *batch_summary_create(size_t count)
{
	struct batch_summary *summary =
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

/* 0: the work makes no call, and was done. */
static bool is_success(int status)
{
	return status == 0 || (status >= 200 && status <= 299);
}

void batch_summary_fill(struct batch_summary *summary, const struct batch *batch)
{
	assert(summary->requested == batch->count && summary->whole == 0);
	for (size_t i = 0; i < batch->count; i++) {
		const struct batch_child *child = &batch->each[i];

		summary->errors[child->outcome]++;
		if (child->outcome != HTTP_OK)
			continue;
		summary->elapsed_ns[summary->whole++] = child->elapsed_ns;
		summary->statuses[child->status]++;
		summary->ok += is_success(child->status);
	}
	qsort(summary->elapsed_ns, summary->whole, sizeof(summary->elapsed_ns[0]), compare);
}

bool batch_summary_is_overload(const struct batch_summary *summary)
{
	size_t turned_away = summary->errors[HTTP_NO_PERMIT] + summary->errors[BATCH_REJECTED];

	return turned_away == summary->requested;
}

int64_t nearest_rank(const int64_t *sorted, size_t count, unsigned percent)
{
	/* ceil(percent/100 × count), in whole numbers; rank 1 is the first. */
	size_t rank = (count * percent + 99) / 100;

	assert(count > 0 && percent <= 100);
	return sorted[rank > 0 ? rank - 1 : 0];
}

uint64_t tenths_of_percent(uint64_t part, uint64_t whole)
{
	uint64_t tenths = (part * 1000 + whole / 2) / whole;

	if (tenths == 1000 && part < whole)
		return 999;
	return tenths == 0 && part > 0 ? 1 : tenths;
}
