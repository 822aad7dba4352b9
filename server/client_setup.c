#include "server/client_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/curl_client.h"
#include "clients/http1_client.h"
#include "clients/upstream.h"
#include "clients/url_host.h"
#include "server/log.h"
#include "server/metered_client.h"

static int explain(char text[CLIENT_SETUP_ERROR_BYTES], int error, const char *what,
                   const char *reason)
{
	if (snprintf(text, CLIENT_SETUP_ERROR_BYTES, "cannot %s: %s", what, reason) < 0)
		text[0] = '\0';
	return error;
}

static int explain_curl(const struct config *config, int error, char text[CLIENT_SETUP_ERROR_BYTES])
{
	char what[CLIENT_SETUP_ERROR_BYTES];

	if (config->upstream_ca == NULL || error == -ENOMEM || error == -ENOSYS)
		return explain(text, error, "start the client", strerrordesc_np(-error));
	if (snprintf(what, sizeof(what), "use --upstream-ca %s", config->upstream_ca) < 0)
		what[0] = '\0';
	return explain(text, error, what,
	               error == -EBADMSG ? "there is no certificate in it"
	                                 : strerrordesc_np(-error));
}

static int create_curl(const struct config *config, struct resolver *resolver,
                       struct connection_gate *gate, struct http_client **out,
                       char error_text[CLIENT_SETUP_ERROR_BYTES])
{
	struct curl_client_options options = {
		.connect_timeout_ms = config->connect_timeout_ms,
		.resolver = resolver,
		.gate = gate,
		.ca_file = config->upstream_ca,
		.insecure = config->upstream_insecure,
		.http2 = config->upstream_http2,
	};
	int error = curl_client_create(&options, out);

	return error == 0 ? 0 : explain_curl(config, error, error_text);
}

static int create_http1(const struct config *config, struct resolver *resolver,
                        struct connection_gate *gate, struct http_client **out,
                        char error_text[CLIENT_SETUP_ERROR_BYTES])
{
	struct http1_client_options options = {
		.connect_timeout_ms = config->connect_timeout_ms,
		.resolver = resolver,
		.gate = gate,
	};
	int error = http1_client_create(&options, out);

	return error == 0 ? 0
	                  : explain(error_text, error, "start the client", strerrordesc_np(-error));
}

static int create_client(const struct config *config, const char *upstream,
                         struct resolver *resolver, struct connection_gate *gate,
                         struct http_client **out, char error_text[CLIENT_SETUP_ERROR_BYTES])
{
	bool is_tls = strncasecmp(upstream, "https:", strlen("https:")) == 0;

	if (strcmp(config->client, "curl") == 0 || (strcmp(config->client, "auto") == 0 && is_tls))
		return create_curl(config, resolver, gate, out, error_text);
	if (is_tls)
		return explain(error_text, -EPROTONOSUPPORT, "use --client http1",
		               "the upstream is https");
	return create_http1(config, resolver, gate, out, error_text);
}

/* Put the limits before *@client, if there are any, or a new file may bring some. */
static int limit_client(const struct config *config, struct http_client **client,
                        struct http_client **limiting)
{
	struct upstream_limits limits = config_default_limits(config);

	*limiting = NULL;
	if (limits.permits == 0 && limits.per_second == 0 && config->config_file == NULL)
		return 0;
	int error = upstream_client_create(*client, &limits, client);

	if (error == 0)
		*limiting = *client;
	return error;
}

static int meter_client(const char *upstream, struct http_client **client)
{
	size_t length;
	const char *start = url_authority(upstream, &length);
	char *authority = strndup(start, length);

	if (authority == NULL)
		return -ENOMEM;
	int error = metered_client_create(*client, authority, client);

	free(authority);
	return error;
}

int client_setup(const struct config *config, const char *upstream, struct resolver *resolver,
                 struct connection_gate *gate, struct http_client **out,
                 struct http_client **limits, char error_text[CLIENT_SETUP_ERROR_BYTES])
{
	struct http_client *client;
	int error = create_client(config, upstream, resolver, gate, &client, error_text);

	if (error != 0)
		return error;
	error = limit_client(config, &client, limits);
	if (error == 0)
		error = meter_client(upstream, &client);
	if (error != 0) {
		http_client_destroy(client);
		return explain(error_text, error, "start the client", strerrordesc_np(-error));
	}
	if (config->upstream_insecure)
		log_event(LOG_SEVERITY_WARNING, "upstream_insecure",
		          "text=\"https upstreams are not verified: anyone on the way can read and "
		          "change the calls\"");
	*out = client;
	return 0;
}
