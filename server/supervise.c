#include "server/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "server/log.h"
#include "server/reload.h"

/* How long, after the cut, partial results may take to come, and then the last tasks. */
enum { ABANDON_AFTER_MS = 1000, GIVE_UP_AFTER_MS = 5000 };

/* A second signal that comes sooner is a copy of the first. */
enum { SAME_SIGNAL_MS = 50 };

/* A drain is a fixed series of steps. */
struct drain {
	struct deadline next;   /* when the next step is due; DEADLINE_NEVER before the drain */
	enum front_phase phase; /* reached */
};

static int64_t first_signal_ns; /* written before the handler is installed */

static void exit_at_once(int signal_number)
{
	/* What a terminal or timeout(1) sends to a whole process group, a wrapper passes on again.
	 */
	if (deadline_now_ns() - first_signal_ns > SAME_SIGNAL_MS * INT64_C(1000000))
		_exit(128 + signal_number);
}

/* With a handler, not SIG_DFL, which the first process of a container ignores. */
static void let_signals_kill(void)
{
	const struct sigaction action = {.sa_handler = exit_at_once};
	sigset_t signals;

	first_signal_ns = deadline_now_ns();
	/* None of these can fail: the numbers are valid. */
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

static void begin_drain(struct app *app, struct drain *drain)
{
	atomic_store(&app->readyz.ready, false);
	drain->phase = FRONT_CLOSING_CONNECTIONS;
	fronts_advance(&app->fronts, drain->phase);
	drain->next = deadline_in_ms(app->config->drain_delay_ms);
}

static void step(struct app *app, struct drain *drain)
{
	switch (drain->phase) {
	case FRONT_SERVING:
		return;
	case FRONT_CLOSING_CONNECTIONS:
		drain->next = deadline_in_ms(app->config->drain_ms);
		break;
	case FRONT_DRAINING:
		log_event(LOG_SEVERITY_WARNING, "drain_cut", "drain_ms=%u", app->config->drain_ms);
		drain->next = deadline_in_ms(ABANDON_AFTER_MS);
		break;
	case FRONT_CANCELING:
		drain->next = deadline_in_ms(GIVE_UP_AFTER_MS);
		break;
	case FRONT_ABANDONING:
		log_event(LOG_SEVERITY_ERROR, "drain_stuck", "waited_ms=%d", GIVE_UP_AFTER_MS);
		_exit(EXIT_FAILURE);
	}
	drain->phase++;
	fronts_advance(&app->fronts, drain->phase);
}

/* The other two begin the drain. */
static void on_signal(struct app *app, int signal_fd, struct drain *drain)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		notify_reloading(&app->notifier);
		reload(app);
		notify_send(&app->notifier, "READY=1");
		return;
	}
	begin_drain(app, drain);
	let_signals_kill();
	notify_send(&app->notifier, "STOPPING=1");
	log_event(LOG_SEVERITY_INFO, "draining", "signal=%s drain_delay_ms=%u drain_ms=%u",
	          sigabbrev_np((int)info.ssi_signo), app->config->drain_delay_ms,
	          app->config->drain_ms);
}

static void on_tick(struct app *app, int timer_fd)
{
	uint64_t ticks;

	if (read(timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		app_tick(app);
}

static int open_timer(void)
{
	const struct itimerspec every_second = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &every_second, NULL) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void supervise(struct app *app, int signal_fd)
{
	struct drain drain = {.next = DEADLINE_NEVER, .phase = FRONT_SERVING};
	int timer_fd = open_timer();

	if (timer_fd < 0)
		log_event(LOG_SEVERITY_WARNING, "quota_not_followed", "errno=%d", errno);
	while (!fronts_are_drained(&app->fronts)) {
		struct pollfd fds[] = {
			/* Once there is a drain, what comes has a handler, but for a SIGHUP, which
		         * would wait to be read for good. */
			{.fd = drain.phase == FRONT_SERVING ? signal_fd : -1, .events = POLLIN},
			{.fd = timer_fd, .events = POLLIN},
			{.fd = app->fronts.drained_fd, .events = POLLIN},
		};

		if (poll(fds, 3, deadline_remaining_ms(drain.next)) < 0)
			continue;
		if (fds[0].revents != 0)
			on_signal(app, signal_fd, &drain);
		if (fds[1].revents != 0) {
			on_tick(app, timer_fd);
			/* From STOPPING=1 on the manager does not wait for it. */
			if (drain.phase == FRONT_SERVING)
				watchdog_tick(&app->watchdog);
		}
		if (deadline_remaining_ns(drain.next) == 0)
			step(app, &drain);
	}
	if (timer_fd >= 0)
		close(timer_fd);
}
