#include "clients/recent_counts.h"

static void forget_slot(struct recent_counts *counts, unsigned at)
{
	counts->all_calls -= counts->calls[at];
	counts->all_others -= counts->others[at];
	counts->calls[at] = 0;
	counts->others[at] = 0;
}

void recent_counts_move_to(struct recent_counts *counts, int64_t slot)
{
	if (counts->slot < slot - RECENT_SLOTS)
		counts->slot = slot - RECENT_SLOTS;
	while (counts->slot < slot) {
		counts->slot++;
		forget_slot(counts, (unsigned)(counts->slot % RECENT_SLOTS));
	}
}

void recent_counts_add(struct recent_counts *counts, int64_t slot, unsigned calls, unsigned others)
{
	unsigned at;

	recent_counts_move_to(counts, slot);
	at = (unsigned)(counts->slot % RECENT_SLOTS);
	counts->calls[at] += calls;
	counts->others[at] += others;
	counts->all_calls += calls;
	counts->all_others += others;
}
