#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

/* The slow-endpoint program, whose path is in the environment as SLOW_ENDPOINT. */

extern char **environ;

enum { PATIENCE_MS = 20000, TEXT_BYTES = 4096 };

struct program {
	pid_t pid;
	int output; /* where we read what it prints */
};

static struct program start(const char *const *arguments, int of_fd)
{
	posix_spawn_file_actions_t actions;
	struct program program;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], of_fd), 0);
	assert_int_equal(posix_spawn(&program.pid, arguments[0], &actions, NULL,
	                             (char *const *)arguments, environ),
	                 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	program.output = ends[0];
	return program;
}

static void start_listening(struct program *program, const char *address, char line[TEXT_BYTES])
{
	const char *arguments[] = {getenv("SLOW_ENDPOINT"), "--listen", address, NULL};
	struct pollfd readable;
	size_t length = 0;

	*program = start(arguments, STDOUT_FILENO);
	readable = (struct pollfd){.fd = program->output, .events = POLLIN};
	do {
		assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
		assert_int_equal(read(program->output, line + length, 1), 1);
		length++;
	} while (line[length - 1] != '\n' && length < TEXT_BYTES - 1);
	line[length] = '\0';
}

/* Returns the exit status. */
static int wait_for(struct program *program)
{
	int status;

	close(program->output);
	assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Run to the end. Returns the exit status; @errors is what it said. */
static int run(const char *const *arguments, char errors[TEXT_BYTES])
{
	struct program program = start(arguments, STDERR_FILENO);
	size_t length = 0;
	ssize_t got;

	while ((got = read(program.output, errors + length, TEXT_BYTES - 1 - length)) > 0)
		length += (size_t)got;
	errors[length] = '\0';
	return wait_for(&program);
}

static void a_signal_ends_it_cleanly(void **state)
{
	static const int signals[] = {SIGTERM, SIGINT};
	char line[TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct program program;
		unsigned port;
		char rest;

		start_listening(&program, "127.0.0.1:0", line);
		assert_int_equal(sscanf(line, "listening http://127.0.0.1:%u (slow endpoint%c",
		                        &port, &rest),
		                 2);
		assert_in_range(port, 1, 65535);
		assert_int_equal(kill(program.pid, signals[i]), 0);
		assert_int_equal(wait_for(&program), 0);
	}
}

static void ipv6_listens_in_brackets(void **state)
{
	char line[TEXT_BYTES];
	struct program program;

	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0)
		skip(); /* a kernel without IPv6 */
	start_listening(&program, "[::1]:0", line);
	assert_memory_equal(line, "listening http://[::1]:", 23);
	assert_int_equal(kill(program.pid, SIGTERM), 0);
	assert_int_equal(wait_for(&program), 0);
}

static void a_port_in_use_is_one_clear_line(void **state)
{
	char line[TEXT_BYTES], errors[TEXT_BYTES], address[64];
	const char *arguments[] = {getenv("SLOW_ENDPOINT"), "--listen", address, NULL};
	struct program program;

	(void)state;
	start_listening(&program, "127.0.0.1:0", line);
	assert_int_equal(sscanf(line, "listening http://%63s", address), 1);
	assert_int_equal(run(arguments, errors), 1);
	assert_non_null(strstr(errors, "Address already in use\n"));
	assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
	assert_int_equal(kill(program.pid, SIGTERM), 0);
	assert_int_equal(wait_for(&program), 0);
}

/* A socket that took the place of standard error would get what is written there. */
static void a_closed_standard_error_is_not_taken_by_a_socket(void **state)
{
	const char *arguments[] = {"/bin/sh", "-c",
	                           "exec \"$SLOW_ENDPOINT\" --listen 127.0.0.1:0 2>&-", NULL};
	struct program program = start(arguments, STDOUT_FILENO);
	char line[TEXT_BYTES], path[64], target[64] = "";
	struct pollfd readable = {.fd = program.output, .events = POLLIN};

	(void)state;
	assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
	assert_true(read(program.output, line, sizeof(line)) > 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)program.pid);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/dev/null");
	assert_int_equal(kill(program.pid, SIGTERM), 0);
	assert_int_equal(wait_for(&program), 0);
}

static void bad_flags_are_exit_status_2(void **state)
{
	static const char *const flags[] = {
		"--bogus",         "stray",         "--listen",      "--listen=nowhere",
		"--listen=::1:80", "--backlog=0",   "--backlog=1e3", "--backlog=-1",
		"--backlog=",      "--backlog=9x9",
	};
	char errors[TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const char *arguments[] = {getenv("SLOW_ENDPOINT"), flags[i], NULL};

		assert_int_equal(run(arguments, errors), 2);
		assert_non_null(strstr(errors, "slow-endpoint"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_ends_it_cleanly),
		cmocka_unit_test(ipv6_listens_in_brackets),
		cmocka_unit_test(a_port_in_use_is_one_clear_line),
		cmocka_unit_test(a_closed_standard_error_is_not_taken_by_a_socket),
		cmocka_unit_test(bad_flags_are_exit_status_2),
	};

	if (!getenv("SLOW_ENDPOINT")) {
		fprintf(stderr, "SLOW_ENDPOINT is not set: run through meson test\n");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
