#ifndef EXECUTORS_COROUTINE_DRIVER_H
#define EXECUTORS_COROUTINE_DRIVER_H

#include <stdbool.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/fiber.h"

/* A pthread that runs a carrier. Lives on that pthread's stack, and only it touches this. */
struct driver {
	struct fiber native; /* its own stack, left while a task runs */
	struct coroutine_carrier *carrier;
	bool on_task; /* a task's stack is the current one */
};

/** Start a driver for @carrier. Returns 0 or -EAGAIN; @thread is to be joined. */
int driver_start(struct coroutine_carrier *carrier, pthread_t *thread);

/** The calling pthread's driver; NULL elsewhere. Read anew after every switch. */
struct driver *driver_self(void);

/** Whether the caller is on the own stack of @carrier's driver, and so may touch the carrier. */
bool driver_owns(const struct coroutine_carrier *carrier);

#endif
