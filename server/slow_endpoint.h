#ifndef SERVER_SLOW_ENDPOINT_H
#define SERVER_SLOW_ENDPOINT_H

#include <stdint.h>

/*
 * An HTTP/1.1 server that answers late on purpose: what fanoutd's calls wait
 * for when no real service is at hand. It counts what it sees, so that the
 * number of calls an executor really made at once can be proved.
 *
 *	GET /slow?ms=1000[&bytes=][&status=][&jitter_ms=][&chunked=1][&rate=][&fault=]
 *	                 [&retry_after=][&slow_percent=&slow_ms=][&fail_percent=]
 *	GET /echo
 *	GET /stats
 *	POST /stats/reset
 *
 * /slow and /echo take other methods, too. A redirect (&status=302) leads to /stats.
 * slow_endpoint_parameters.h says what the parameters mean, slow_endpoint_echo.h what
 * /echo answers.
 *
 * One thread: an epoll loop and a timer heap. No h2o and no executor, which are
 * what it helps to measure. slow_endpoint_main.c makes a program of it.
 */
struct slow_endpoint;

struct slow_endpoint_options {
	const char *host; /* name or address, IPv6 without brackets; borrowed during start */
	uint16_t port;    /* 0 takes a free one */
	int backlog;      /* of listen(2), at least 1; the kernel caps it at somaxconn */
};

/** A consistent snapshot. Everything but in_flight counts from the start or the last reset. */
struct slow_endpoint_stats {
	uint64_t in_flight;       /* /slow requests waiting for their delay */
	uint64_t peak_in_flight;  /* most of them at once */
	uint64_t total;           /* /slow requests taken or refused */
	uint64_t connections;     /* connections that carried any of them */
	uint64_t refused;         /* answered 429 because of rate= */
	uint64_t canceled;        /* ended because the client went during the delay */
	uint64_t accept_backoffs; /* times that accepting paused for want of an fd or memory */
};

/**
 * Listen and answer, on a thread of the endpoint's own, until slow_endpoint_stop().
 *
 * Blocks while it resolves the host. On success *@out is the caller's. Raises no limit: see
 * to RLIMIT_NOFILE before. Returns 0; -EADDRINUSE; -EACCES the port is privileged;
 * -EADDRNOTAVAIL the host is unknown or not of this machine; -EMFILE, -ENFILE, -ENOMEM,
 * -EAGAIN the system refused fds, memory or a thread. *@out is untouched on failure.
 */
int slow_endpoint_start(const struct slow_endpoint_options *options, struct slow_endpoint **out);

/** The port that it listens on. Any thread. */
uint16_t slow_endpoint_port(const struct slow_endpoint *endpoint);

/** Any thread; never waits for the network. */
void slow_endpoint_stats(struct slow_endpoint *endpoint, struct slow_endpoint_stats *out);

/** Cut every connection, answered or not, end the thread and free all. NULL is ignored. */
void slow_endpoint_stop(struct slow_endpoint *endpoint);

#endif
