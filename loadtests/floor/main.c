#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "executors/decimal.h"
#include "loadtests/floor/bare_client.h"
#include "loadtests/floor/door.h"
#include "loadtests/floor/round_text.h"

enum { EXIT_USAGE = 2, CALLS_MAX = 100000, DELAY_MS_MAX = 600000, ROUNDS_MAX = 1000000 };

struct arguments {
	struct sockaddr_in upstream;
	struct sockaddr_in listen;
	unsigned calls;
	unsigned delay_ms;
	unsigned rounds;
	bool listens;
	bool cold;
};

static const char usage[] =
	"Usage: floor [--calls N] [--delay-ms MS] [--rounds N] [--cold] HOST:PORT\n"
	"       floor --listen HOST:PORT HOST:PORT\n"
	"\n"
	"What calls cost with nothing but connect, send, read and epoll: makes N calls at\n"
	"once of GET http://HOST:PORT/slow?ms=MS, and prints what they took, a line of JSON\n"
	"for each round. HOST is an IPv4 address.\n"
	"\n"
	"  --calls N           default 1000\n"
	"  --delay-ms MS       default 0\n"
	"  --rounds N          one after another, over the same connections; default 5\n"
	"  --cold              each over connections of its own; else only the first is cold\n"
	"  --listen HOST:PORT  make a round for each GET /fanout?n=N&delay_ms=MS instead\n"
	"  --help\n";

static bool read_number(const char *text, unsigned min, unsigned max, unsigned *out)
{
	uint64_t number;

	if (!decimal_read(text, strlen(text), &number) || number < min || number > max)
		return false;
	*out = (unsigned)number;
	return true;
}

static bool read_address(const char *text, struct sockaddr_in *out)
{
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN] = "";
	unsigned port;

	if (!colon || (size_t)(colon - text) >= sizeof(host) ||
	    !read_number(colon + 1, 0, UINT16_MAX, &port))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	*out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static bool read_option(int option, struct arguments *arguments)
{
	switch (option) {
	case 'n':
		return read_number(optarg, 1, CALLS_MAX, &arguments->calls);
	case 'd':
		return read_number(optarg, 0, DELAY_MS_MAX, &arguments->delay_ms);
	case 'r':
		return read_number(optarg, 1, ROUNDS_MAX, &arguments->rounds);
	case 'c':
		arguments->cold = true;
		return true;
	case 'l':
		arguments->listens = true;
		return read_address(optarg, &arguments->listen);
	case 'h':
		(void)fputs(usage, stdout);
		/* There are no other threads. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		exit(0);
	default:
		return false;
	}
}

static bool read_arguments(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{"calls", required_argument, NULL, 'n'},
		{"delay-ms", required_argument, NULL, 'd'},
		{"rounds", required_argument, NULL, 'r'},
		{"cold", no_argument, NULL, 'c'},
		{"listen", required_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*arguments = (struct arguments){.calls = 1000, .rounds = 5};
	/* There are no other threads. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!read_option(option, arguments))
			return false;
	return optind + 1 == argc && read_address(argv[optind], &arguments->upstream);
}

/* Returns how many there may be. */
static unsigned raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur < UINT32_MAX ? (unsigned)limit.rlim_cur : UINT32_MAX;
}

/* The calls that failed in all rounds. */
static unsigned print_rounds(const struct arguments *arguments, struct bare_client *client)
{
	char text[ROUND_TEXT_BYTES];
	struct bare_round round;
	unsigned failed = 0;

	for (unsigned i = 0; i < arguments->rounds; i++) {
		if (arguments->cold)
			bare_client_close_connections(client);
		bare_client_round(client, arguments->calls, arguments->delay_ms, &round);
		(void)round_text_write(&round, text);
		(void)fputs(text, stdout);
		failed += round.failed;
	}
	return failed;
}

int main(int argc, char **argv)
{
	enum { OWN_FDS = 16 };
	struct arguments arguments;
	struct bare_client *client;
	unsigned failed = 0, fds = raise_fd_limit();
	int error;

	if (!read_arguments(argc, argv, &arguments)) {
		(void)fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (!arguments.listens && arguments.calls + OWN_FDS > fds) {
		fprintf(stderr, "floor: %u calls need more than %u file descriptors\n",
		        arguments.calls, fds);
		return EXIT_FAILURE;
	}
	error = bare_client_create(&arguments.upstream,
	                           arguments.listens ? CALLS_MAX : arguments.calls, &client);
	if (error == 0) {
		if (arguments.listens)
			error = door_serve(&arguments.listen, client, CALLS_MAX);
		else
			failed = print_rounds(&arguments, client);
		bare_client_destroy(client);
	}
	if (error < 0)
		/* There are no other threads. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		fprintf(stderr, "floor: %s\n", strerror(-error));
	return error < 0 || failed > 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
