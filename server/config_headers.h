#ifndef SERVER_CONFIG_HEADERS_H
#define SERVER_CONFIG_HEADERS_H

#include "server/config_object.h"

/**
 * The headers of a struct upstream_settings, whose array is malloc'd:
 *
 *	{"Accept": "application/json", "Authorization": {"env": "STOCK_TOKEN"}}
 *
 * A value is never printed, nor said when it is wrong: it may be a secret.
 */
extern const struct config_kind config_headers;

#endif
