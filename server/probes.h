#ifndef SERVER_PROBES_H
#define SERVER_PROBES_H

#include <stdatomic.h>

#include "handlers/handler.h"

/** GET /livez: 200 as long as a front answers at all. Static; its destroy does nothing. */
extern struct handler livez_handler;

/** GET /readyz: 200 while @ready is true, else 503. Any thread may change it. */
struct readyz_handler {
	struct handler super;
	atomic_bool ready;
};

void readyz_handler_init(struct readyz_handler *handler);

#endif
