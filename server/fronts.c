#include "server/fronts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/listener.h"
#include "server/protocol_errors.h"

enum { REQUEST_TIMEOUT_MS = 10 * 1000 };

static h2o_hostconf_t *add_host(h2o_globalconf_t *http, const char *name, struct site *site)
{
	/* The name tells them apart in the list; each listener serves one, whatever Host says. */
	h2o_hostconf_t *host =
		h2o_config_register_host(http, h2o_iovec_init(name, strlen(name)), 65535);

	dispatch_register(host, site);
	protocol_errors_register(host);
	return host;
}

static void configure_http(h2o_globalconf_t *http, size_t max_body_bytes)
{
	h2o_config_init(http);
	http->server_name = h2o_iovec_init(H2O_STRLIT("fanoutd"));
	/* From the first byte, or the last answer, to the last byte of a request. */
	http->http1.req_timeout = REQUEST_TIMEOUT_MS;
	/* h2o 2.2.5 is open to rapid reset (CVE-2023-44487): no HTTP/2, also not over h2c. */
	http->http1.upgrade_to_http2 = 0;
	http->max_request_entity_size = max_body_bytes;
}

/* Before the fronts accept for the last time. That it may not work is what it would be without. */
static void ignore_new(const struct fronts *fronts)
{
	if (fronts->are_given)
		return;
	if (fronts->listen_fd >= 0)
		(void)listener_ignore_new(fronts->listen_fd);
	if (fronts->admin_fd >= 0)
		(void)listener_ignore_new(fronts->admin_fd);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int start_each(struct fronts *fronts, const struct front_options *options, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int error = front_start(options, i, &fronts->fronts[i]);

		if (error != 0)
			return error;
		fronts->count++;
	}
	return 0;
}

static int start(struct fronts *fronts, const struct fronts_options *options)
{
	struct front_options each = {
		.http = &fronts->http,
		.hosts = {add_host(&fronts->http, "main", options->site)},
		.listen_fds = {options->listen_fd, options->admin_fd},
		.exchanges = options->exchanges,
		.rejections = options->rejections,
	};

	if (options->admin_fd >= 0)
		each.hosts[1] = add_host(&fronts->http, "admin", options->admin_site);
	fronts->drained_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fronts->drained_fd < 0)
		return -errno;
	each.drained_fd = fronts->drained_fd;
	fronts->fronts = calloc(options->count, sizeof(*fronts->fronts));
	if (fronts->fronts == NULL)
		return -ENOMEM;
	return start_each(fronts, &each, options->count);
}

int fronts_start(struct fronts *fronts, const struct fronts_options *options)
{
	*fronts = (struct fronts){
		.listen_fd = options->listen_fd,
		.admin_fd = options->admin_fd,
		.are_given = options->are_given,
		.drained_fd = -1,
	};
	configure_http(&fronts->http, options->max_body_bytes);
	int error = start(fronts, options);

	if (error != 0) {
		fronts_advance(fronts, FRONT_ABANDONING);
		fronts_stop(fronts);
	}
	return error;
}

void fronts_advance(struct fronts *fronts, enum front_phase phase)
{
	if (phase >= FRONT_DRAINING) {
		ignore_new(fronts);
		close_fd(&fronts->listen_fd);
		close_fd(&fronts->admin_fd);
	}
	for (unsigned i = 0; i < fronts->count; i++)
		front_advance(fronts->fronts[i], phase);
}

void fronts_ask(struct fronts *fronts)
{
	for (unsigned i = 0; i < fronts->count; i++)
		front_ask(fronts->fronts[i]);
}

bool fronts_have_answered(const struct fronts *fronts)
{
	for (unsigned i = 0; i < fronts->count; i++)
		if (!front_has_answered(fronts->fronts[i]))
			return false;
	return true;
}

bool fronts_are_drained(struct fronts *fronts)
{
	eventfd_t news;

	if (eventfd_read(fronts->drained_fd, &news) == 0)
		fronts->drained += (unsigned)news;
	return fronts->drained == fronts->count;
}

void fronts_stop(struct fronts *fronts)
{
	for (unsigned i = 0; i < fronts->count; i++)
		front_stop(fronts->fronts[i]);
	free(fronts->fronts);
	fronts->fronts = NULL;
	fronts->count = 0;
	close_fd(&fronts->drained_fd);
	close_fd(&fronts->listen_fd);
	close_fd(&fronts->admin_fd);
	h2o_config_dispose(&fronts->http);
}
