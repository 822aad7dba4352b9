#ifndef SERVER_CONFIG_UPSTREAM_H
#define SERVER_CONFIG_UPSTREAM_H

#include "server/config_object.h"

/** The keys of one upstream, for a struct upstream_settings; what its headers take is malloc'd. To
 * add one: a row here, and a property in config.schema.json. */
extern const struct config_member config_upstream_members[];

#endif
