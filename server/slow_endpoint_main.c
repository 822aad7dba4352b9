#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executors/decimal.h"
#include "server/backlog_limit.h"
#include "server/listen_address.h"
#include "server/process_start.h"
#include "server/slow_endpoint.h"

/* The slow endpoint as a program of its own. */

enum { EXIT_USAGE = 2, BACKLOG_MAX = 1 << 20 };

struct arguments {
	struct listen_address listen;
	int backlog;
	bool wants_help;
	bool wants_version;
};

static const char usage[] =
	"Usage: slow-endpoint [--listen HOST:PORT] [--backlog N]\n"
	"\n"
	"An HTTP server that answers late on purpose.\n"
	"\n"
	"  --listen HOST:PORT  default 127.0.0.1:8081; port 0 takes a free one\n"
	"  --backlog N         connections that may wait to be accepted; default 4096\n"
	"  --help, --version\n"
	"\n"
	"  GET /slow?ms=1000   after so many milliseconds; with &bytes= &status= &jitter_ms=\n"
	"                      &chunked=1 &rate= &fault=reset|stall|close|garbage &retry_after=\n"
	"                      &slow_percent=5&slow_ms=  so many take so long instead\n"
	"                      &fail_percent=5  so many get that status and fault, the rest 200\n"
	"  GET /echo           the request as it came, as JSON\n"
	"                      (both take HEAD, POST, PUT, PATCH and DELETE, too)\n"
	"  GET /stats          what it has seen, as JSON\n"
	"  POST /stats/reset   count anew\n";

static int read_backlog(const char *text, int *backlog)
{
	uint64_t number;

	if (!decimal_read(text, strlen(text), &number) || number < 1 || number > BACKLOG_MAX)
		return -EINVAL;
	*backlog = (int)number;
	return 0;
}

static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{"listen", required_argument, NULL, 'l'},
		{"backlog", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	int option;

	/* There are no other threads yet. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'l' && listen_address_parse(optarg, &arguments->listen)) {
			fprintf(stderr, "slow-endpoint: --listen: not HOST:PORT: %s\n", optarg);
			return -EINVAL;
		}
		if (option == 'b' && read_backlog(optarg, &arguments->backlog)) {
			fprintf(stderr, "slow-endpoint: --backlog: not a number from 1 to %d: %s\n",
			        BACKLOG_MAX, optarg);
			return -EINVAL;
		}
		if (option == 'h')
			arguments->wants_help = true;
		if (option == 'v')
			arguments->wants_version = true;
		if (option == '?')
			return -EINVAL;
	}
	if (optind < argc) {
		fprintf(stderr, "slow-endpoint: unexpected argument: %s\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static void raise_fd_limit(void)
{
	int error = process_raise_fd_limit();

	if (error)
		fprintf(stderr, "slow-endpoint: cannot raise the limit of open files: %s\n",
		        strerrordesc_np(-error));
}

static void warn_of_short_backlog(int backlog)
{
	int limit = backlog_limit();

	if (limit >= 0 && limit < backlog)
		fprintf(stderr,
		        "slow-endpoint: the kernel cuts the backlog of %d to %d "
		        "(sysctl net.core.somaxconn)\n",
		        backlog, limit);
}

/* Serve until a signal of @stop_signals, all of which are blocked. */
static int serve(const struct arguments *arguments, const sigset_t *stop_signals)
{
	struct slow_endpoint_options options = {
		.host = arguments->listen.host,
		.port = arguments->listen.port,
		.backlog = arguments->backlog,
	};
	struct slow_endpoint *endpoint;
	char url[LISTEN_ADDRESS_URL_BYTES];
	int error = slow_endpoint_start(&options, &endpoint);
	int status = EXIT_SUCCESS;
	int signal;

	if (error) {
		listen_address_url(options.host, options.port, url);
		fprintf(stderr, "slow-endpoint: cannot listen on %s: %s\n", url,
		        strerrordesc_np(-error));
		return EXIT_FAILURE;
	}
	listen_address_url(options.host, slow_endpoint_port(endpoint), url);
	if (printf("listening %s (slow endpoint)\n", url) < 0 || fflush(stdout)) {
		fprintf(stderr, "slow-endpoint: cannot write to standard output\n");
		status = EXIT_FAILURE;
	} else {
		error = sigwait(stop_signals, &signal);
		if (error)
			status = EXIT_FAILURE;
	}
	slow_endpoint_stop(endpoint);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.listen = {"127.0.0.1", 8081}, .backlog = 4096};
	sigset_t stop_signals;
	int error;

	process_fill_standard_streams();
	if (read_arguments(argc, argv, &arguments)) {
		fprintf(stderr, "Try slow-endpoint --help.\n");
		return EXIT_USAGE;
	}
	if (arguments.wants_help)
		return fputs(usage, stdout) < 0 || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (arguments.wants_version)
		return puts("slow-endpoint " FANOUTD_VERSION) < 0 || fflush(stdout) ? EXIT_FAILURE
		                                                                    : EXIT_SUCCESS;
	/* Blocked from before there is a port: a signal that comes early waits for sigwait(). */
	(void)sigemptyset(&stop_signals);
	(void)sigaddset(&stop_signals, SIGTERM);
	(void)sigaddset(&stop_signals, SIGINT);
	error = pthread_sigmask(SIG_BLOCK, &stop_signals, NULL);
	if (error) {
		fprintf(stderr, "slow-endpoint: cannot block signals: %s\n",
		        strerrordesc_np(error));
		return EXIT_FAILURE;
	}
	raise_fd_limit();
	warn_of_short_backlog(arguments.backlog);
	return serve(&arguments, &stop_signals);
}
