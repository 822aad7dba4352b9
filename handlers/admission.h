#ifndef HANDLERS_ADMISSION_H
#define HANDLERS_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executors/memory_budget.h"
#include "handlers/handler.h"

/*
 * Whether there is room for a request's calls in what all requests may take of the memory limit,
 * asked before the first of them is made: rather a 503 that says why than the kernel ending the
 * process later.
 */

/** What a request needs at most. */
struct admission_need {
	uint64_t in_flight;   /* tasks, and calls if it makes some, at once */
	uint64_t call_bytes;  /* of such a call: see http_call_memory_bytes(); 0: none is made */
	uint64_t other_bytes; /* records, replies that are kept, the answer */
};

/**
 * Take what @need says from @budget (NULL: there is no limit). True: go on, and give *@taken to
 * admission_leave() in the end. False: @response is a 503 that names the limit. Task only.
 */
bool admission_enter(struct memory_budget *budget, const struct admission_need *need,
                     struct response *response, size_t *taken);

/** For @bytes of that which no later request uses again, such as replies: whether they are really
 * free now. True: to be undone by memory_budget_unkeep(). False: as above. */
bool admission_keep(struct memory_budget *budget, size_t bytes, struct response *response);

/** The calls are over and forgotten: give @taken back, but for what the body of @response takes,
 * which goes back with it. */
void admission_leave(struct memory_budget *budget, size_t taken, struct response *response);

/** What one request may take of the room, so that others find some, too: at most @bytes. */
size_t admission_share(const struct memory_budget *budget, size_t bytes);

#endif
