#include "server/named_upstreams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "executors/deadline.h"

/* ------ what is wrong */

static int explain(char text[NAMED_UPSTREAMS_ERROR_BYTES], int error, const char *what,
                   const char *reason)
{
	if (snprintf(text, NAMED_UPSTREAMS_ERROR_BYTES, "%s: %s", what, reason) < 0)
		text[0] = '\0';
	return error;
}

static const char *reason_of(int error, bool has_ca)
{
	if (error == -EINVAL)
		return "its host cannot be called";
	if (error == -EPROTONOSUPPORT)
		return "it is https, which the client http1 does not speak";
	if (error == -EBADMSG && has_ca)
		return "there is no certificate in its ca";
	return strerrordesc_np(-error);
}

/* @index counts the default first, if there is one; the one for absolute URLs is last. */
static int explain_faulty(const struct named_upstreams *named, const struct config *config,
                          size_t index, int error, char text[NAMED_UPSTREAMS_ERROR_BYTES])
{
	size_t defaults = named->by_default.url != NULL;
	char place[CONFIG_PLACE_BYTES];

	if (error == -ENOMEM || index < defaults || index - defaults > config->upstream_count)
		return explain(text, error, "cannot start the upstreams", strerrordesc_np(-error));
	index -= defaults;
	if (index == config->upstream_count) {
		config_print_part_place(config, "allow", SIZE_MAX, place);
		return explain(text, error, place, reason_of(error, config->upstream_ca != NULL));
	}
	config_print_part_place(config, "upstreams", index, place);
	return explain(text, error, place,
	               reason_of(error, config->upstreams[index].wire.ca_file != NULL));
}

/* ------ a set */

/* The default first. NULL: no memory. */
static struct upstream_settings *list_upstreams(const struct named_upstreams *named,
                                                const struct config *config, size_t *count)
{
	struct upstream_settings *list = calloc(config->upstream_count + 1, sizeof(*list));

	if (list == NULL)
		return NULL;
	*count = 0;
	if (named->by_default.url != NULL) {
		list[*count] = named->by_default;
		list[(*count)++].timeout_ms = config->call_timeout_ms;
	}
	for (size_t i = 0; i < config->upstream_count; i++)
		list[(*count)++] = config->upstreams[i];
	return list;
}

static uint64_t random_seed(void)
{
	uint64_t seed;

	/* Before the kernel has any, early at boot, the time will do: it is for pauses. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)deadline_now_ns();
	return seed;
}

static int create_set(const struct named_upstreams *named, const struct config *config,
                      struct upstream_set *previous, struct upstream_set **out,
                      char error_text[NAMED_UPSTREAMS_ERROR_BYTES])
{
	const struct upstream_settings absolute = config_upstream_defaults(config, NULL);
	struct upstream_set_options options = {
		.absolute = config->allow_count > 0 ? &absolute : NULL,
		.allow = {config->allow, config->allow_count},
		.wire = named->wire,
		.previous = previous,
		.seed = random_seed(),
	};
	size_t faulty = SIZE_MAX;
	struct upstream_settings *list = list_upstreams(named, config, &options.count);

	if (list == NULL)
		return explain_faulty(named, config, faulty, -ENOMEM, error_text);
	options.upstreams = list;
	int error = upstream_set_create(&options, out, &faulty);

	free(list);
	return error == 0 ? 0 : explain_faulty(named, config, faulty, error, error_text);
}

static enum wire_protocol protocol_of(const struct config *config)
{
	if (strcmp(config->client, "http1") == 0)
		return WIRE_HTTP1;
	return strcmp(config->client, "curl") == 0 ? WIRE_CURL : WIRE_AUTO;
}

/* ------ over time */

int named_upstreams_start(struct named_upstreams *named, const struct config *config,
                          const struct named_upstreams_options *options,
                          char error_text[NAMED_UPSTREAMS_ERROR_BYTES])
{
	const struct wire_clients_options wire = {
		.protocol = protocol_of(config),
		.resolver = options->resolver,
		.gate = options->gate,
	};
	struct upstream_set *set;

	*named = (struct named_upstreams){.by_default = config_upstream_defaults(config, NULL)};
	named->by_default.url = options->default_url;
	named->by_default.client = options->default_client;
	named->by_default.limits = (struct upstream_limits){0}; /* that client has them */
	int error = wire_clients_create(&wire, &named->wire);

	if (error != 0)
		return explain_faulty(named, config, SIZE_MAX, error, error_text);
	error = create_set(named, config, NULL, &set, error_text);
	if (error != 0) {
		named_upstreams_stop(named);
		return error;
	}
	upstream_holder_init(&named->upstreams, set);
	named->has_upstreams = true;
	return 0;
}

int named_upstreams_change(struct named_upstreams *named, const struct config *config,
                           char error_text[NAMED_UPSTREAMS_ERROR_BYTES])
{
	struct upstream_set *previous = upstream_holder_acquire(&named->upstreams);
	struct upstream_set *set;
	int error = create_set(named, config, previous, &set, error_text);

	if (error == 0)
		upstream_holder_swap(&named->upstreams, set);
	upstream_set_release(previous);
	return error;
}

void named_upstreams_tick(struct named_upstreams *named)
{
	wire_clients_tick(named->wire);
}

void named_upstreams_stop(struct named_upstreams *named)
{
	if (named->has_upstreams)
		upstream_holder_finish(&named->upstreams);
	wire_clients_destroy(named->wire);
	*named = (struct named_upstreams){0};
}
