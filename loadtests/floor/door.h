#ifndef LOADTESTS_FLOOR_DOOR_H
#define LOADTESTS_FLOOR_DOOR_H

#include <netinet/in.h>

#include "loadtests/floor/bare_client.h"

/**
 * Let rounds be asked for as they are of a server: GET /fanout?n=N&delay_ms=MS, in exactly this
 * form, answered with the round as JSON once it is over. One connection at a time. Anything else,
 * or more than @calls_max calls, is a 400 and closes the connection.
 *
 * Prints "listening http://HOST:PORT (floor)" once it can be called. Blocks for good; returns only
 * a negative errno: it could not listen, or not accept.
 */
int door_serve(const struct sockaddr_in *listen_on, struct bare_client *client, unsigned calls_max);

#endif
