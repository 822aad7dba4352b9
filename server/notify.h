#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * What a service manager is told, in its own protocol (sd_notify(3), "Standalone
 * Implementations"): one datagram for each piece of news, to the socket that the environment
 * names. Without one everything here does nothing.
 *
 * Main thread only.
 */
struct notifier {
	int fd; /* owned; -1: nobody wants to know */
	struct sockaddr_un address;
	socklen_t address_len;
	int64_t watchdog_ns; /* how long the manager waits to hear that we are alive; 0: for ever */
};

/**
 * Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from @environment, which is not used
 * afterwards. Returns 0; -EINVAL what they say makes no sense; -EMFILE, -ENFILE, -ENOMEM.
 * *@notifier can be used, and does nothing, after an error, too.
 */
int notify_init(struct notifier *notifier, char *const environment[]);

/** Tell @state: lines of NAME=VALUE, such as "READY=1". Never waits; what the manager does not
 * take is lost. */
void notify_send(const struct notifier *notifier, const char *state);

/** Tell that a reload begins, and when, so that the next READY=1 is known to be after it. */
void notify_reloading(const struct notifier *notifier);

void notify_finish(struct notifier *notifier);

#endif
