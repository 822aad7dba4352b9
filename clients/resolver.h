#ifndef CLIENTS_RESOLVER_H
#define CLIENTS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "executors/deadline.h"
#include "executors/offload.h"

/*
 * Host names to addresses, for tasks.
 *
 * getaddrinfo() blocks for seconds and cannot be interrupted, so it runs on the
 * blocking lane of offload.h; the asking tasks park. However many ask for a name at
 * once, it is looked up once, and the answer is kept for a while. A task that is
 * cancelled leaves at once. A name server that does not answer holds up those who
 * ask for the name, and nobody else while the lane has threads.
 */
struct resolver;

enum { RESOLVER_ADDRESSES_BYTES = 256 };

/** "192.0.2.1,[2001:db8::1]": in the order of preference, as many as fit. */
struct resolver_answer {
	char addresses[RESOLVER_ADDRESSES_BYTES];
	const char *reason; /* static text: why there are none; NULL if there are */
};

/** Zeroed means the defaults, but for @offload. */
struct resolver_options {
	struct offload *offload; /* where names are looked up; outlives the resolver */
	/* Fill @answer for @host; blocks. NULL is getaddrinfo(). On a thread of the lane. */
	void (*look_up)(const char *host, struct resolver_answer *answer);
	int64_t keep_ns;        /* addresses; 0 is 30 s */
	int64_t keep_failed_ns; /* that there are none; 0 is 1 s */
	unsigned max_names;     /* known at once, the oldest go first; 0 is 1024 */
};

/** On success *@out is the caller's. Returns 0 or -ENOMEM. Any thread. */
int resolver_create(const struct resolver_options *options, struct resolver **out);

/**
 * The addresses of @name (@name_len bytes, at most 253; upper and lower case are one).
 *
 * Returns 0; -ENOENT there are none, see answer->reason; -EAGAIN no memory or
 * thread for it, or too many names are being looked up; -ETIMEDOUT; -ECANCELED. @answer is
 * valid after 0 and -ENOENT only. Task only; parks.
 */
int resolver_look_up(struct resolver *resolver, const char *name, size_t name_len,
                     struct deadline deadline, struct resolver_answer *answer);

/** No task is looking up. Blocks until the lookups under way have ended. NULL is ignored. */
void resolver_destroy(struct resolver *resolver);

#endif
