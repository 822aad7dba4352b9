#ifndef SERVER_SLOW_ENDPOINT_EXCHANGE_H
#define SERVER_SLOW_ENDPOINT_EXCHANGE_H

#include <stdint.h>

#include "server/slow_endpoint_connection.h"

/*
 * What a connection does: request, delay, answer, next request. Each call takes
 * it as far as it goes without waiting, but no further than its fair share of
 * the loop. It may be closed afterwards. Loop thread only.
 */

/** epoll reported @events on its socket. */
void slow_exchange_on_events(struct slow_connection *connection, uint32_t events);

/** Its timer is due and has been taken out of the heap. */
void slow_exchange_on_timer(struct slow_connection *connection);

#endif
