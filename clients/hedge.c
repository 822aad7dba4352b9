#include "clients/hedge.h"

#include <assert.h>

/* Walking all classes for each call would cost more than the rest of it. */
enum { LATENCIES_BETWEEN_LOOKS = 50 };

void hedge_init(struct hedge *hedge, const struct hedge_settings *settings)
{
	assert(settings->percentile >= 50 && settings->percentile <= 99);
	assert(settings->budget_percent >= 1 && settings->budget_percent <= 100);
	*hedge = (struct hedge){
		.settings = *settings,
		.hundredths = HEDGE_BUDGET_FIRST * 100,
		.delay_ns = INT64_MAX,
		.until_asked = HEDGE_LEAST_CALLS,
	};
}

int64_t hedge_begin(struct hedge *hedge)
{
	hedge->hundredths += hedge->settings.budget_percent;
	if (hedge->hundredths > HEDGE_BUDGET_MOST * 100)
		hedge->hundredths = HEDGE_BUDGET_MOST * 100;
	return hedge->delay_ns;
}

int64_t hedge_take(struct hedge *hedge, int64_t took_ns)
{
	int64_t needed_ns = hedge->delay_ns;

	if (hedge->hundredths < HEDGE_BUDGET_SHORT * 100)
		needed_ns *= 2;
	if (hedge->hundredths < HEDGE_BUDGET_SHORT * 100 / 2)
		needed_ns *= 2;
	if (took_ns < needed_ns)
		return needed_ns;
	if (hedge->hundredths < 100)
		return took_ns * 2;
	hedge->hundredths -= 100;
	return 0;
}

static uint64_t root(uint64_t number)
{
	uint64_t low = 0, high = number + 1;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (middle * middle <= number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Of @count, a binomial's mean less three deviations: count * p - 3 * sqrt(count * p * (1 - p)). */
static uint32_t low_rank(uint64_t count, uint64_t percent)
{
	uint64_t mean = count * percent / 100;
	uint64_t deviations = root(9 * count * percent * (100 - percent) / 10000);

	return mean > deviations + 1 ? (uint32_t)(mean - deviations) : 1;
}

void hedge_learn(struct hedge *hedge, int64_t now_ns, int64_t took_ns)
{
	latency_window_add(&hedge->latencies, now_ns, took_ns);
	if (--hedge->until_asked > 0)
		return;
	hedge->until_asked = LATENCIES_BETWEEN_LOOKS;
	hedge->delay_ns = latency_window_at_rank(
		&hedge->latencies,
		low_rank(latency_window_count(&hedge->latencies), hedge->settings.percentile));
}
