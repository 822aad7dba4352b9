#include "server/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "executors/decimal.h"
#include "server/environment.h"

static int read_address(struct notifier *notifier, const char *path)
{
	struct sockaddr_un *address = &notifier->address;
	size_t length = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || length >= sizeof(address->sun_path))
		return -EINVAL;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, length + 1);
	if (path[0] == '@') /* an abstract name; then the length says where it ends */
		address->sun_path[0] = '\0';
	notifier->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return 0;
}

static int read_watchdog(struct notifier *notifier, char *const environment[])
{
	const char *text = environment_find(environment, "WATCHDOG_USEC");
	const char *pid_text = environment_find(environment, "WATCHDOG_PID");
	uint64_t time_us, pid;

	if (text == NULL)
		return 0;
	if (pid_text != NULL && !decimal_read(pid_text, strlen(pid_text), &pid))
		return -EINVAL;
	if (pid_text != NULL && pid != (uint64_t)getpid())
		return 0; /* another process is to say so */
	if (!decimal_read(text, strlen(text), &time_us) || time_us == 0 ||
	    time_us > INT64_MAX / 1000)
		return -EINVAL;
	notifier->watchdog_ns = (int64_t)time_us * 1000;
	return 0;
}

int notify_init(struct notifier *notifier, char *const environment[])
{
	const char *path = environment_find(environment, "NOTIFY_SOCKET");
	int error;

	*notifier = (struct notifier){.fd = -1};
	if (path == NULL)
		return 0;
	error = read_address(notifier, path);
	if (error == 0)
		error = read_watchdog(notifier, environment);
	if (error != 0)
		return error;
	notifier->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return notifier->fd >= 0 ? 0 : -errno;
}

void notify_send(const struct notifier *notifier, const char *state)
{
	if (notifier->fd >= 0)
		(void)!sendto(notifier->fd, state, strlen(state), MSG_NOSIGNAL,
		              (const struct sockaddr *)&notifier->address, notifier->address_len);
}

void notify_reloading(const struct notifier *notifier)
{
	char state[64];

	if (snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
	             (long long)(deadline_now_ns() / 1000)) > 0)
		notify_send(notifier, state);
}

void notify_finish(struct notifier *notifier)
{
	if (notifier->fd >= 0)
		close(notifier->fd);
	*notifier = (struct notifier){.fd = -1};
}
