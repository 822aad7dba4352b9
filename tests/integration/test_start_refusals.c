#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/app.h"
#include "tests/fakes/refusals.h"
#include "tests/with_cmocka.h"

/* A server that the system refuses something at the k-th time does not start, says why, and leaves
 * nothing behind. */

static bool is_epoll(int directory, const char *name)
{
	char target[64];
	ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);

	return length > 0 && strncmp(target, "anon_inode:[eventpoll]", (size_t)length) == 0;
}

/* Without epoll instances: h2o_evloop_destroy() of 2.2.5 leaves its own open. */
static unsigned open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)))
		count += !is_epoll(dirfd(directory), entry->d_name);
	assert_int_equal(closedir(directory), 0);
	return count;
}

/* Drained without having served anything. */
static void stop(struct app *app)
{
	fronts_advance(&app->fronts, FRONT_DRAINING);
	fronts_advance(&app->fronts, FRONT_ABANDONING);
	while (!fronts_are_drained(&app->fronts))
		(void)sched_yield();
	app_stop(app);
}

/* True if it started. */
static bool start(const struct config *config, unsigned *refused)
{
	char error_text[APP_ERROR_BYTES] = "";
	struct app app;
	int error = app_start(&app, config, error_text);

	*refused = refusals_end();
	if (error == 0) {
		stop(&app);
		return true;
	}
	if (strncmp(error_text, "cannot ", 7) != 0)
		assert_string_equal(error_text, "cannot …");
	assert_true(error == -ENOMEM || error == -EAGAIN || error == -EMFILE);
	return false;
}

/* Upstreams with all that they can have. Returns the path. */
static char *write_config(void)
{
	static const char text[] =
		"{\"upstreams\": {\"a\": {\"url\": \"http://127.0.0.1:1\", \"permits\": 1, "
		"\"retry\": {},\n"
		" \"breaker\": {}, \"hedge\": {}, \"headers\": {\"A\": \"b\"}},\n"
		" \"b\": {\"url\": \"https://127.0.0.1:1\"}}, \"allow\": [\"https://*\"]}";
	static char path[32];
	int fd = memfd_create("configuration", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_true(snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) > 0);
	return path;
}

static void starts_or_says_why_not(void **state)
{
	char *arguments[] = {"fanoutd",
	                     "--listen",
	                     "127.0.0.1:0",
	                     "--slow-listen",
	                     "127.0.0.1:0",
	                     "--carriers",
	                     "2",
	                     "--compare",
	                     "--pool-threads",
	                     "3",
	                     "--experiments",
	                     "--admin-listen",
	                     "127.0.0.1:0",
	                     "--config",
	                     write_config(),
	                     NULL};
	char *environment[] = {NULL};
	char text[256];
	struct config config;
	unsigned fds, refused, failures = 0;

	(void)state;
	assert_int_equal(config_parse(15, arguments, environment, &config, text, sizeof(text)), 0);
	assert_true(start(&config, &refused));
	refused = 1;
	fds = open_fds(); /* with what libraries keep */
	for (unsigned k = 1; refused > 0; k++) {
		refuse(REFUSE_ALL, k);
		failures += !start(&config, &refused);
		assert_int_equal(open_fds(), fds);
	}
	assert_true(failures > 20);
	config_finish(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(starts_or_says_why_not)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
