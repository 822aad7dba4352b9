#include "server/healthcheck.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clients/url_host.h"
#include "executors/deadline.h"

/* Of the answer only the status line counts, of a URL as much as fits. */
enum { STATUS_LINE_BYTES = sizeof("HTTP/1.1 200"), REQUEST_BYTES = 2048 };

/* One line, in the words of the user's question. */
static int explain(char text[HEALTHCHECK_ERROR_BYTES], int error, const char *url, const char *why)
{
	if (snprintf(text, HEALTHCHECK_ERROR_BYTES, "%.300s: %s", url, why) < 0)
		text[0] = '\0';
	return error;
}

/* For the errno of a system call; one that SO_SNDTIMEO or SO_RCVTIMEO has ended, see socket(7). */
static int explain_errno(char text[HEALTHCHECK_ERROR_BYTES], const char *url)
{
	int error = errno;

	if (error == EAGAIN || error == EINPROGRESS)
		error = ETIMEDOUT;
	return explain(text, -error, url, strerrordesc_np(error));
}

/* Have the next blocking call on @fd end with the deadline. */
static int bound_wait(int fd, struct deadline deadline)
{
	int64_t left_us = deadline_remaining_ns(deadline) / 1000;
	struct timeval left = {.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};

	if (left_us == 0) { /* which would mean for ever */
		errno = ETIMEDOUT;
		return -1;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) != 0)
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left));
}

/* The first of @addresses that lets itself be connected to; -1 with the errno of the last. */
static int connect_to(const struct addrinfo *addresses, struct deadline deadline)
{
	for (const struct addrinfo *to = addresses; to != NULL; to = to->ai_next) {
		int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue;
		if (bound_wait(fd, deadline) == 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0)
			return fd;
		int error = errno;

		close(fd);
		errno = error;
	}
	return -1;
}

/* Leave the beginning of the answer in @line. 0, or -1 with errno. */
static int ask(int fd, const char *request, struct deadline deadline, char line[STATUS_LINE_BYTES])
{
	size_t filled = 0;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return -1;
	while (filled < STATUS_LINE_BYTES - 1) {
		if (bound_wait(fd, deadline) != 0)
			return -1;
		ssize_t got = recv(fd, line + filled, STATUS_LINE_BYTES - 1 - filled, 0);

		if (got <= 0) {
			if (got == 0)
				errno = ECONNRESET;
			return -1;
		}
		filled += (size_t)got;
	}
	line[filled] = '\0';
	return 0;
}

static int judge(const char *line, const char *url, char error_text[HEALTHCHECK_ERROR_BYTES])
{
	unsigned status;
	char why[sizeof("the answer is 200")];

	if (sscanf(line, "HTTP/1.%*1[01] %3u", &status) != 1)
		return explain(error_text, -EPROTO, url, "the answer is no HTTP");
	if (status >= 200 && status <= 299)
		return 0;
	(void)snprintf(why, sizeof(why), "the answer is %u", status % 1000);
	return explain(error_text, -EPROTO, url, why);
}

static int print_request(const char *url, char request[REQUEST_BYTES])
{
	size_t authority_len;
	const char *authority = url_authority(url, &authority_len);
	const char *target = authority + authority_len;
	int length = snprintf(request, REQUEST_BYTES,
	                      "GET %s%s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
	                      *target == '/' ? "" : "/", target, (int)authority_len, authority);

	return length > 0 && length < REQUEST_BYTES ? 0 : -EINVAL;
}

static int look_up(const struct url_host *host, struct addrinfo **out)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	char name[URL_HOST_NAME_MAX + 1], port[sizeof("65535")];

	if (snprintf(name, sizeof(name), "%.*s", (int)host->name_len, host->name) < 0 ||
	    snprintf(port, sizeof(port), "%hu", host->port) < 0)
		return EAI_FAIL;
	return getaddrinfo(name, port, &hints, out);
}

static int check_url(const char *url, char error_text[HEALTHCHECK_ERROR_BYTES])
{
	struct deadline deadline = deadline_in_ms(HEALTHCHECK_WITHIN_MS);
	char request[REQUEST_BYTES], line[STATUS_LINE_BYTES];
	struct addrinfo *addresses;
	struct url_host host;

	if (url_host_find(url, &host) != 0 || host.is_tls || print_request(url, request) != 0)
		return explain(error_text, -EINVAL, url, "not an http:// URL that can be asked");
	int gai_error = look_up(&host, &addresses);

	if (gai_error != 0)
		return explain(error_text, -EADDRNOTAVAIL, url, gai_strerror(gai_error));
	int fd = connect_to(addresses, deadline);

	freeaddrinfo(addresses);
	if (fd < 0)
		return explain_errno(error_text, url);
	int result = ask(fd, request, deadline, line) == 0 ? judge(line, url, error_text)
	                                                   : explain_errno(error_text, url);

	close(fd);
	return result;
}

int healthcheck(const struct config *config, char error[HEALTHCHECK_ERROR_BYTES])
{
	const struct listen_address *listen = &config->listen;
	const char *host = listen->host;
	char url[LISTEN_ADDRESS_URL_BYTES + sizeof("/readyz")];

	if (config->healthcheck_url != NULL)
		return check_url(config->healthcheck_url, error);
	if (listen->port == 0)
		return explain(error, -EINVAL, "--healthcheck",
		               "the server takes any free port: which URL is to be asked?");
	if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	listen_address_url(host, listen->port, url);
	memcpy(url + strlen(url), "/readyz", sizeof("/readyz"));
	return check_url(url, error);
}
