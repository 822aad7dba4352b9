#include "server/config_upstream.h"

#include <string.h>

#include "clients/upstream_settings.h"
#include "clients/url_host.h"
#include "server/config_headers.h"
#include "server/upstream_url.h"

enum { A_DAY_MS = 24 * 60 * 60 * 1000 };

#define COUNT(name, type, field, least, most)                                                      \
	.key = (name), .kind = &config_count, .offset = offsetof(type, field), .minimum = (least), \
	.maximum = (most)
#define OBJECT(name, field, of_kind, table)                                                        \
	.key = (name), .kind = &(of_kind), .offset = offsetof(struct upstream_settings, field),    \
	.members = (table)
#define UPSTREAM(name, field, least, most) COUNT(name, struct upstream_settings, field, least, most)
#define RETRY(name, field, least, most) COUNT(name, struct retry_settings, field, least, most)
#define BREAKER(name, field, least, most) COUNT(name, struct breaker_settings, field, least, most)
#define HEDGE(name, field, least, most) COUNT(name, struct hedge_settings, field, least, most)

static const struct config_member retry_members[] = {
	{RETRY("attempts", attempts, 1, RETRY_ATTEMPTS_MAX)},
	{RETRY("base_ms", base_ms, 1, A_DAY_MS)},
	{RETRY("max_ms", max_ms, 1, A_DAY_MS)},
	{.key = NULL},
};

static const struct config_member breaker_members[] = {
	{BREAKER("error_percent", error_percent, 1, 100)},
	{BREAKER("min_calls", min_calls, 1, 1000000)},
	{BREAKER("window_ms", window_ms, BREAKER_SLOTS, A_DAY_MS)},
	{BREAKER("open_ms", open_ms, 1, A_DAY_MS)},
	{.key = NULL},
};

static const struct config_member hedge_members[] = {
	{HEDGE("percentile", percentile, 50, 99)},
	{HEDGE("budget_percent", budget_percent, 1, 100)},
	{.key = NULL},
};

/* ------ objects in it, which are off if they are not there, and have defaults if they are */

static int take_retry(const struct config_reader *reader, const struct config_member *member,
                      const struct config_value *value, void *target)
{
	struct retry_settings *settings = &((struct upstream_settings *)target)->retry;

	*settings = RETRY_DEFAULTS;
	return config_object_take(reader, member->members, value, settings);
}

static int take_breaker(const struct config_reader *reader, const struct config_member *member,
                        const struct config_value *value, void *target)
{
	struct breaker_settings *settings = &((struct upstream_settings *)target)->breaker;

	*settings = BREAKER_DEFAULTS;
	return config_object_take(reader, member->members, value, settings);
}

static int take_hedge(const struct config_reader *reader, const struct config_member *member,
                      const struct config_value *value, void *target)
{
	struct hedge_settings *settings = &((struct upstream_settings *)target)->hedge;

	*settings = HEDGE_DEFAULTS;
	return config_object_take(reader, member->members, value, settings);
}

/* ------ where it is */

/* A URL without a path: what is called there comes with each call. */
static int take_origin(const struct config_reader *reader, const struct config_member *member,
                       const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	int error = config_string.take(reader, member, value, target);
	const char *url, *path, *reason = NULL;
	size_t length;

	if (error)
		return error;
	url = json_string_value(value->json);
	/* The place says which; and there may be a password in it. */
	if (upstream_url_check(url, &reason) < 0)
		return config_mistake(&mistake, "is not a URL to call: %s", reason);
	path = url_authority(url, &length) + length;
	if (path[0] != '\0' && strcmp(path, "/") != 0)
		return config_mistake(&mistake, "'%.100s' is one path too many: calls bring theirs",
		                      path);
	return 0;
}

static void print_origin(FILE *out, const char *who, const struct config_member *member,
                         const json_t *in_file, const void *target)
{
	config_string.print(out, who, member, in_file, target);
}

/* ------ the table */

static const struct config_kind origin_kind = {take_origin, print_origin};
static const struct config_kind retry_kind = {take_retry, config_object_print_field};
static const struct config_kind breaker_kind = {take_breaker, config_object_print_field};
static const struct config_kind hedge_kind = {take_hedge, config_object_print_field};

const struct config_member config_upstream_members[] = {
	{.key = "url", .kind = &origin_kind, .offset = offsetof(struct upstream_settings, url)},
	{UPSTREAM("permits", limits.permits, 0, 1000000), .if_zero = "any number"},
	{UPSTREAM("permit_wait_ms", limits.permit_wait_ms, 0, A_DAY_MS)},
	{UPSTREAM("rate", limits.per_second, 0, 1000000), .if_zero = "any number"},
	{UPSTREAM("timeout_ms", timeout_ms, 1, A_DAY_MS)},
	{UPSTREAM("connect_timeout_ms", wire.connect_timeout_ms, 1, A_DAY_MS)},
	{.key = "headers", .kind = &config_headers},
	{OBJECT("retry", retry, retry_kind, retry_members)},
	{OBJECT("breaker", breaker, breaker_kind, breaker_members)},
	{OBJECT("hedge", hedge, hedge_kind, hedge_members)},
	{.key = "ca",
         .kind = &config_string,
         .offset = offsetof(struct upstream_settings, wire.ca_file),
         .if_zero = "the system's"},
	{.key = "http2",
         .kind = &config_switch,
         .offset = offsetof(struct upstream_settings, wire.http2)},
	{.key = NULL},
};
