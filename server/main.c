#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/app.h"
#include "server/config.h"
#include "server/healthcheck.h"
#include "server/log.h"
#include "server/process_start.h"
#include "server/show_cpus.h"
#include "server/supervise.h"

enum { EXIT_USAGE = 2 };

/* Before there is any other thread, and before anything listens: all threads inherit the mask,
 * and a signal that comes during the start is answered as soon as the start is over. */
static int open_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -1;
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void print_listening(const char *host, uint16_t port, const char *what)
{
	char url[LISTEN_ADDRESS_URL_BYTES];

	listen_address_url(host, port, url);
	printf("listening %s (%s)\n", url, what);
}

static void announce(const struct app *app)
{
	const struct config *config = app->config;
	const struct cpu_quota *quota = &app->cpus.quota;

	print_listening(app->listen.host, app->listen.port, "fan-out");
	if (app->slow_endpoint != NULL)
		print_listening(config->slow_listen.host, slow_endpoint_port(app->slow_endpoint),
		                "slow endpoint");
	/* Nobody may be reading; the server runs all the same. */
	(void)fflush(stdout);
	log_event(
		LOG_SEVERITY_INFO, "started",
		"version=%s executor=%s compare=%s usable_cpus=%u quota_cpus=%g affinity_cpus=%u "
		"cgroup=%d limited_by=\"%s\" carriers=%u fronts=%u stack_guard=%s upstream=\"%s\"",
		FANOUTD_VERSION, config->executor, config->compare ? "yes" : "no", quota->usable,
		quota->quota_cpus, quota->affinity_cpus, quota->cgroup, quota->limited_by,
		app->carriers, app->fronts.count, executor_set_stack_guard(&app->executors),
		app->upstream != NULL ? app->upstream : "");
}

static int serve(const struct config *config)
{
	static struct app app;
	char error[APP_ERROR_BYTES];
	int signal_fd = open_signals();

	if (signal_fd < 0) {
		fprintf(stderr, "fanoutd: cannot wait for signals: %s\n", strerrordesc_np(errno));
		return EXIT_FAILURE;
	}
	if (config->warning[0] != '\0')
		log_event(LOG_SEVERITY_WARNING, "config", "text=\"%s\"", config->warning);
	int fd_limit_error = process_raise_fd_limit();

	if (fd_limit_error != 0)
		log_event(LOG_SEVERITY_WARNING, "fd_limit", "errno=%d", -fd_limit_error);
	if (app_start(&app, config, error) != 0) {
		fprintf(stderr, "fanoutd: %s\n", error);
		return EXIT_FAILURE;
	}
	announce(&app);
	notify_send(&app.notifier, "READY=1");
	supervise(&app, signal_fd);
	app_stop(&app);
	close(signal_fd);
	log_event(LOG_SEVERITY_INFO, "stopped", "status=%d", EXIT_SUCCESS);
	return EXIT_SUCCESS;
}

/* Exit code 1 is what container runtimes take for "unhealthy"; they reserve others. */
static int check_health(const struct config *config)
{
	char error[HEALTHCHECK_ERROR_BYTES];

	if (healthcheck(config, error) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "fanoutd: %s\n", error);
	return EXIT_FAILURE;
}

static int run(const struct config *config)
{
	switch (config->command) {
	case CONFIG_SERVE:
		return serve(config);
	case CONFIG_SHOW_CPUS:
		return show_cpus(config->root, config->affinity_cpus, stdout, stderr);
	case CONFIG_HEALTHCHECK:
		return check_health(config);
	case CONFIG_CHECK:
		return 0;
	case CONFIG_PRINT:
		return config_print(config, stdout);
	case CONFIG_VERSION:
		return printf("fanoutd %s\n", FANOUTD_VERSION) < 0 ? -EIO : 0;
	case CONFIG_HELP:
		return config_print_help(stdout);
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct config config;
	char error[CONFIG_ERROR_BYTES];

	process_fill_standard_streams();
	if (config_parse(argc, argv, environ, &config, error, sizeof(error)) != 0) {
		fprintf(stderr, "fanoutd: %s\n", error);
		return EXIT_USAGE;
	}
	int status = run(&config);

	config_finish(&config);
	if (fflush(stdout) != 0 && status == 0 && config.command != CONFIG_SERVE)
		status = -EIO;
	if (status < 0) {
		fprintf(stderr, "fanoutd: %s\n", strerrordesc_np(-status));
		return EXIT_FAILURE;
	}
	return status;
}
