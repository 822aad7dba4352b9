#ifndef SERVER_SLOW_ENDPOINT_SHARE_H
#define SERVER_SLOW_ENDPOINT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which requests are among the so many percent that are slow, or fail: spread
 * evenly rather than drawn by lot, so that a test knows how many there will be. With 5 percent
 * it is every twentieth. Each percentage has a count of its own.
 */
struct slow_shares {
	uint8_t owed[101]; /* by percentage: hundredths of a request, 0 … 99 */
};

/** Whether the next one of @percent (0 … 100) is among them. Loop thread only. */
static inline bool slow_shares_take(struct slow_shares *shares, uint32_t percent)
{
	unsigned owed = shares->owed[percent] + percent;
	bool is_due = owed >= 100;

	shares->owed[percent] = (uint8_t)(is_due ? owed - 100 : owed);
	return is_due;
}

#endif
