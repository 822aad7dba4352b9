#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "clients/upstream_settings.h"
#include "clients/url_allow.h"
#include "executors/executor.h"
#include "server/listen_address.h"

/*
 * What the command line, the environment and a file ask for. Each setting is a flag
 * (--pool-threads 200 or --pool-threads=200), a variable (FANOUTD_POOL_THREADS) and a
 * key of the file ("pool-threads": 200); the flag counts first, then the variable, then
 * the file, then the default. To add one: a field here, a row in config_settings.c and
 * a property in config.schema.json.
 */
enum config_command {
	CONFIG_SERVE,
	CONFIG_SHOW_CPUS,
	CONFIG_HEALTHCHECK,
	CONFIG_CHECK,
	CONFIG_PRINT,
	CONFIG_VERSION,
	CONFIG_HELP,
};

enum config_half_close {
	CONFIG_HALF_CLOSE_GONE, /* a client that closes its side has left */
	CONFIG_HALF_CLOSE_KEEP, /* it still reads the answer */
};

/** The higher one counts. */
enum config_source {
	CONFIG_DEFAULT,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_FLAG,
};

enum {
	CONFIG_SETTINGS_MAX = 48,
	CONFIG_ERROR_BYTES = 640, /* enough for any mistake */
	CONFIG_PLACE_BYTES = 192, /* FILE:LINE:COLUMN; a long path is cut */
};

/** Strings are static, borrowed from the arguments and the environment given to config_parse(), or
 * of the file, which config_finish() closes. */
struct config {
	enum config_command command;
	const char *config_file; /* its path; NULL: none */

	struct listen_address listen;
	struct listen_address slow_listen;  /* host "": no built-in slow endpoint */
	struct listen_address admin_listen; /* host "": the main listener */
	unsigned slow_backlog;

	const char *executor; /* a name for executor_create() */
	bool compare;         /* start all of them, a request may choose */
	unsigned carriers;    /* 0: as many as there are usable CPUs */
	unsigned pool_threads;
	unsigned queue;
	enum when_full when_full;
	unsigned max_threads;
	unsigned max_tasks;
	size_t stack_bytes;
	unsigned spare_drivers;
	unsigned pinned_threshold_ms;
	enum stack_guard stack_guard;

	const char *upstream;    /* a URL; NULL: the built-in slow endpoint */
	const char *client;      /* "auto", "http1" or "curl" */
	const char *upstream_ca; /* a PEM file; NULL: the system's certificates */
	bool upstream_insecure;  /* https servers are not verified */
	bool upstream_http2;
	unsigned call_timeout_ms;
	unsigned connect_timeout_ms;
	unsigned upstream_connections; /* 0: by the limit of descriptors */
	unsigned upstream_permits;     /* 0: any number */
	unsigned permit_wait_ms;
	unsigned upstream_rate; /* calls a second; 0: any number */
	unsigned deadline_ms;
	unsigned max_n;
	size_t max_body_bytes;              /* of one request */
	const char *auth_token_file;        /* whose bearer token requests need; NULL: none */
	size_t max_reply_bytes;             /* of one call */
	size_t max_request_bytes_in_memory; /* of all a request holds */

	enum config_half_close half_close;
	unsigned drain_delay_ms;
	unsigned drain_ms;
	bool experiments;

	const char *healthcheck_url; /* of CONFIG_HEALTHCHECK; NULL: this server's own */

	/* CONFIG_SHOW_CPUS only. */
	const char *root;       /* stands before /proc and /sys; "": the real ones */
	unsigned affinity_cpus; /* 0: ask the kernel */

	/* For config_print(): where the value of each setting is from, in the order of the table.
	 */
	struct {
		enum config_source source;
		const char *text; /* as written; NULL: none, the zero value */
	} origins[CONFIG_SETTINGS_MAX];

	char warning[160]; /* one line for the log; "": none */

	/* Of the file alone; owned. */
	struct upstream_settings *upstreams; /* none is the default, that of --upstream */
	size_t upstream_count;
	struct url_pattern *allow; /* absolute URLs that may be called */
	size_t allow_count;

	struct config_file *file; /* owned; NULL: none */
	int argc;                 /* as given to config_parse(), for config_parse_again() */
	char *const *argv, *const *environment;
};

/**
 * Work out the configuration from @argv, as given to main(), @environment, a list like
 * environ, and the file that one of them names with --config. The two are borrowed for as
 * long as @out is used. Neither environment nor file is looked at for --show-cpus,
 * --version and --help. All of the file has to be right, also what a flag overrides.
 *
 * Returns 0, and @out is to be given to config_finish(); -EINVAL with one line in @error,
 * without newline or program name: "--queue: '0' is not a number from 1 to 1000000", of the
 * file "PATH:LINE:COLUMN: queue: …". *@out is untouched then. Blocks.
 */
int config_parse(int argc, char *const argv[], char *const environment[], struct config *out,
                 char *error, size_t error_bytes);

/** config_parse() with the arguments and the environment of @config, and the file as it is now. */
int config_parse_again(const struct config *config, struct config *out, char *error,
                       size_t error_bytes);

/** Free what config_parse() has made. Fine on a zeroed one, and twice. */
void config_finish(struct config *config);

/** The limits of each upstream that says nothing of its own. */
struct upstream_limits config_default_limits(const struct config *config);

/** What an upstream called @name is that says nothing but its URL: by the flags. All borrowed. */
struct upstream_settings config_upstream_defaults(const struct config *config, const char *name);

/** Write "PATH:LINE:COLUMN": where in the file element @index of @part, "upstreams" or "allow", is
 * or, if it is SIZE_MAX, all of it. The file has it. */
void config_print_part_place(const struct config *config, const char *part, size_t index,
                             char out[CONFIG_PLACE_BYTES]);

/** Write the names of the settings that are not the same in @before and @after and that a running
 * server cannot change, with blanks between them; cut to size. */
void config_list_restarts(const struct config *before, const struct config *after, char *out,
                          size_t out_bytes);

/** Write each setting, its value and where it is from, a line each. 0, or -EIO. */
int config_print(const struct config *config, FILE *out);

/** Write what --help shows. 0, or -EIO. */
int config_print_help(FILE *out);

#endif
