#include "clients/upstream_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------ comparing */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_same_headers(const struct upstream_settings *a, const struct upstream_settings *b)
{
	if (a->header_count != b->header_count)
		return false;
	for (size_t i = 0; i < a->header_count; i++)
		if (strcmp(a->headers[i].name, b->headers[i].name) != 0 ||
		    strcmp(a->headers[i].value, b->headers[i].value) != 0)
			return false;
	return true;
}

static bool are_same_limits(const struct upstream_limits *a, const struct upstream_limits *b)
{
	return a->permits == b->permits && a->permit_wait_ms == b->permit_wait_ms &&
	       a->per_second == b->per_second;
}

static bool are_same_retries(const struct retry_settings *a, const struct retry_settings *b)
{
	return a->attempts == b->attempts && a->base_ms == b->base_ms && a->max_ms == b->max_ms;
}

static bool are_same_breakers(const struct breaker_settings *a, const struct breaker_settings *b)
{
	return a->error_percent == b->error_percent && a->min_calls == b->min_calls &&
	       a->window_ms == b->window_ms && a->open_ms == b->open_ms;
}

static bool are_same_hedges(const struct hedge_settings *a, const struct hedge_settings *b)
{
	return a->percentile == b->percentile && a->budget_percent == b->budget_percent;
}

static bool are_same_wires(const struct wire_settings *a, const struct wire_settings *b)
{
	return a->connect_timeout_ms == b->connect_timeout_ms && a->insecure == b->insecure &&
	       a->http2 == b->http2 && is_same_text(a->ca_file, b->ca_file);
}

bool upstream_settings_are_equal(const struct upstream_settings *a,
                                 const struct upstream_settings *b)
{
	return is_same_text(a->name, b->name) && is_same_text(a->url, b->url) &&
	       a->timeout_ms == b->timeout_ms && a->client == b->client && are_same_headers(a, b) &&
	       are_same_limits(&a->limits, &b->limits) && are_same_retries(&a->retry, &b->retry) &&
	       are_same_breakers(&a->breaker, &b->breaker) &&
	       are_same_hedges(&a->hedge, &b->hedge) && are_same_wires(&a->wire, &b->wire);
}

/* ------ copying */

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static size_t all_text_bytes(const struct upstream_settings *settings)
{
	size_t bytes = text_bytes(settings->name) + text_bytes(settings->url) +
	               text_bytes(settings->wire.ca_file);

	for (size_t i = 0; i < settings->header_count; i++)
		bytes += text_bytes(settings->headers[i].name) +
		         text_bytes(settings->headers[i].value);
	return bytes;
}

/* Copy @text to *@at, and move that behind it. Returns the copy; NULL stays NULL. */
static const char *put_text(char **at, const char *text)
{
	size_t bytes = text_bytes(text);
	char *copy = *at;

	if (!text)
		return NULL;
	memcpy(copy, text, bytes);
	*at += bytes;
	return copy;
}

/* The settings, then the headers, then the texts. */
struct block {
	struct upstream_settings settings;
	struct http_header headers[];
};

int upstream_settings_copy(const struct upstream_settings *settings, struct upstream_settings **out)
{
	size_t header_bytes = settings->header_count * sizeof(struct http_header);
	struct block *block = malloc(sizeof(*block) + header_bytes + all_text_bytes(settings));
	char *at;

	if (!block)
		return -ENOMEM;
	at = (char *)block->headers + header_bytes;
	block->settings = *settings;
	block->settings.name = put_text(&at, settings->name);
	block->settings.url = put_text(&at, settings->url);
	block->settings.wire.ca_file = put_text(&at, settings->wire.ca_file);
	for (size_t i = 0; i < settings->header_count; i++)
		block->headers[i] = (struct http_header){
			.name = put_text(&at, settings->headers[i].name),
			.value = put_text(&at, settings->headers[i].value),
		};
	block->settings.headers = block->headers;
	*out = &block->settings;
	return 0;
}
