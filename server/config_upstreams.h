#ifndef SERVER_CONFIG_UPSTREAMS_H
#define SERVER_CONFIG_UPSTREAMS_H

#include "clients/upstream_settings.h"
#include "clients/url_allow.h"
#include "server/config_object.h"

/*
 * What a file says of upstreams, and what no flag can say:
 *
 *	"upstreams": {"stock": {"url": "https://stock.internal:8443", "permits": 50,
 *	              "headers": {"Authorization": {"env": "STOCK_TOKEN"}},
 *	              "retry": {"attempts": 3}, "breaker": {}, "hedge": {}}},
 *	"allow": ["https://api.example.com", "http://partner.example:8080"]
 *
 * An upstream takes what it leaves out from the flags of the same meaning. Only the
 * server/config*.c files use it.
 */
enum { CONFIG_UPSTREAMS_MAX = 1000, CONFIG_UPSTREAM_HEADERS_MAX = 100, CONFIG_ALLOW_MAX = 1000 };

/** Is @key one of those that no flag has? */
bool config_is_part(const char *key);

/**
 * Read their values in reader->file into config->upstreams and config->allow; what the flags say is
 * in @config. Returns 0; -EINVAL with the mistake written, and what has been read is in @config all
 * the same.
 */
int config_parts_take(const struct config_reader *reader, struct config *config);

/** Write a line for everything that is known of each, without what might be secret. */
void config_parts_print(const struct config *config, FILE *out);

/** Free what the above have made. Fine on a zeroed configuration, and twice. */
void config_parts_finish(struct config *config);

#endif
