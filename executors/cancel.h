#ifndef EXECUTORS_CANCEL_H
#define EXECUTORS_CANCEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * A cancel token: fired at most once, with a reason, from any thread. Tokens
 * form a tree; firing one fires all below it. Every task runs under one, and
 * once it has fired each wait of the task ends with -ECANCELED.
 *
 * A token is its owner's memory, so firing it after the work has ended is
 * harmless. Locks are taken from the root of the tree downwards.
 */
enum cancel_reason {
	CANCEL_NONE,
	CANCEL_CLIENT_GONE,
	CANCEL_DEADLINE,
	CANCEL_SHUTDOWN,
	CANCEL_SIBLING_DONE,
	CANCEL_OVERLOAD,
};

/** Something that wants to hear of the firing. Embed it; no allocation. */
struct cancel_watch {
	/* Called once, on the firing thread, under the token's lock: must be short, must not wait
	 * and must not touch this token. The watch stays on the list. */
	void (*notify)(struct cancel_watch *watch);
	struct cancel_watch *next;      /* the token's lock */
	struct cancel_watch **previous; /* the token's lock; NULL while on no list */
};

struct cancel {
	pthread_mutex_t lock; /* a scope uses its token's lock for itself, too */
	atomic_int reason;    /* written under lock; any thread may read, see cancel_reason() */
	struct cancel_watch *watches; /* lock */
	struct cancel *parent;        /* NULL for a root; outlives this one */
	struct cancel_watch watch;    /* on the parent's list */
};

/** Below @parent, or a root if NULL. Fired at once if @parent has fired already. */
void cancel_init(struct cancel *cancel, struct cancel *parent);

/** All watches have been removed and nobody fires this token any more. */
void cancel_finish(struct cancel *cancel);

/** Fire with @reason, never CANCEL_NONE; the first reason stays. Any thread; never waits. */
void cancel_fire(struct cancel *cancel, enum cancel_reason reason);

/** The same, called with the lock held. */
void cancel_fire_locked(struct cancel *cancel, enum cancel_reason reason);

/** CANCEL_NONE until fired. Any thread. What happened before the firing is visible after it. */
static inline enum cancel_reason cancel_reason(const struct cancel *cancel)
{
	return (enum cancel_reason)atomic_load_explicit(&cancel->reason, memory_order_acquire);
}

/**
 * Put @watch on the list; it is notified before this returns if the token has fired. Newest first:
 * a scope's token hears of the firing before the task that opened it is woken.
 */
void cancel_watch_add(struct cancel *cancel, struct cancel_watch *watch);
void cancel_watch_add_locked(struct cancel *cancel, struct cancel_watch *watch);

/** Afterwards @watch is not, and will not be, notified. Fine on one that is on no list. */
void cancel_watch_remove(struct cancel *cancel, struct cancel_watch *watch);
void cancel_watch_remove_locked(struct cancel *cancel, struct cancel_watch *watch);

/** Static text such as "client gone". */
const char *cancel_reason_name(enum cancel_reason reason);

#endif
