#include "clients/wire_clients.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clients/curl_client.h"
#include "clients/http1_client.h"

/* What a file was when it was read: another one of its name is another file. */
struct file_version {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
};

/* One client, and what it is for. Kept until the end. */
struct wire {
	struct wire *next; /* the lock; an older one */
	struct http_client *client;
	bool is_curl;
	struct wire_settings settings; /* its ca_file is owned */
	struct file_version ca_version;
};

struct wire_clients {
	struct wire_clients_options options; /* constant */
	pthread_mutex_t lock;
	struct wire *newest; /* lock */
};

int wire_clients_create(const struct wire_clients_options *options, struct wire_clients **out)
{
	struct wire_clients *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->options = *options;
	pthread_mutex_init(&self->lock, NULL);
	*out = self;
	return 0;
}

static void destroy_wire(struct wire *wire)
{
	http_client_destroy(wire->client);
	free((char *)wire->settings.ca_file);
	free(wire);
}

void wire_clients_destroy(struct wire_clients *clients)
{
	struct wire *wire;

	if (!clients)
		return;
	while ((wire = clients->newest)) {
		clients->newest = wire->next;
		destroy_wire(wire);
	}
	pthread_mutex_destroy(&clients->lock);
	free(clients);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Zeroed if there is no file: whoever reads it says so. */
static struct file_version version_of(const char *path)
{
	struct stat status;

	if (!path || stat(path, &status) < 0)
		return (struct file_version){0};
	return (struct file_version){
		.device = status.st_dev,
		.inode = status.st_ino,
		.bytes = status.st_size,
		.changed = status.st_mtim,
	};
}

static bool is_same_version(const struct file_version *a, const struct file_version *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static bool fits(const struct wire *wire, const struct wire_settings *settings, bool is_curl)
{
	const struct wire_settings *has = &wire->settings;
	struct file_version ca_version;

	if (wire->is_curl != is_curl || has->connect_timeout_ms != settings->connect_timeout_ms)
		return false;
	if (!is_curl)
		return true;
	ca_version = version_of(settings->ca_file);
	return has->insecure == settings->insecure && has->http2 == settings->http2 &&
	       is_same_text(has->ca_file, settings->ca_file) &&
	       is_same_version(&wire->ca_version, &ca_version);
}

static int create_client(const struct wire_clients *clients, struct wire *wire)
{
	if (wire->is_curl)
		return curl_client_create(
			&(struct curl_client_options){
				.connect_timeout_ms = wire->settings.connect_timeout_ms,
				.resolver = clients->options.resolver,
				.gate = clients->options.gate,
				.ca_file = wire->settings.ca_file,
				.insecure = wire->settings.insecure,
				.http2 = wire->settings.http2,
			},
			&wire->client);
	return http1_client_create(
		&(struct http1_client_options){
			.connect_timeout_ms = wire->settings.connect_timeout_ms,
			.resolver = clients->options.resolver,
			.gate = clients->options.gate,
		},
		&wire->client);
}

static int create_wire(const struct wire_clients *clients, const struct wire_settings *settings,
                       bool is_curl, struct wire **out)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	int error;

	if (!wire)
		return -ENOMEM;
	wire->is_curl = is_curl;
	wire->settings = *settings;
	wire->settings.ca_file = NULL;
	wire->ca_version = version_of(settings->ca_file);
	if (settings->ca_file) {
		wire->settings.ca_file = strdup(settings->ca_file);
		if (!wire->settings.ca_file) {
			free(wire);
			return -ENOMEM;
		}
	}
	error = create_client(clients, wire);
	if (error < 0) {
		destroy_wire(wire);
		return error;
	}
	*out = wire;
	return 0;
}

static int find_or_add_locked(struct wire_clients *clients, const struct wire_settings *settings,
                              bool is_curl, struct http_client **out)
{
	struct wire *wire = clients->newest;
	int error;

	while (wire && !fits(wire, settings, is_curl))
		wire = wire->next;
	if (!wire) {
		error = create_wire(clients, settings, is_curl, &wire);
		if (error < 0)
			return error;
		wire->next = clients->newest;
		clients->newest = wire;
	}
	*out = wire->client;
	return 0;
}

int wire_clients_find(struct wire_clients *clients, const struct wire_settings *settings,
                      bool is_tls, struct http_client **out)
{
	bool is_curl = clients->options.protocol == WIRE_CURL ||
	               (clients->options.protocol == WIRE_AUTO && is_tls);
	int error;

	if (is_tls && !is_curl)
		return -EPROTONOSUPPORT;
	pthread_mutex_lock(&clients->lock);
	error = find_or_add_locked(clients, settings, is_curl, out);
	pthread_mutex_unlock(&clients->lock);
	return error;
}

void wire_clients_tick(struct wire_clients *clients)
{
	struct wire *wire;

	pthread_mutex_lock(&clients->lock);
	wire = clients->newest;
	pthread_mutex_unlock(&clients->lock);
	/* What has been added stays where it is, and what is older than it does not change. */
	for (; wire; wire = wire->next)
		http_client_tick(wire->client);
}
