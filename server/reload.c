#include "server/reload.h"

#include <stdio.h>

#include "server/log.h"

enum { RESTART_LIST_BYTES = 400 };

/* Within double quotes. */
static void replace_quotes(char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			*text = '\'';
	}
}

static void fail(struct app *app, char *error_text)
{
	reload_counts_add(&app->reloads, RELOAD_FAILED);
	replace_quotes(error_text);
	log_event(LOG_SEVERITY_ERROR, "reload_failed", "text=\"%s\" stays=\"as it was\"",
	          error_text);
}

static void apply(struct app *app, const struct config *config)
{
	char restart[RESTART_LIST_BYTES];
	char error_text[NAMED_UPSTREAMS_ERROR_BYTES];

	if (named_upstreams_change(&app->named_upstreams, config, error_text) != 0) {
		fail(app, error_text);
		return;
	}
	app_take_limits(app, config);
	reload_counts_add(&app->reloads, RELOAD_OK);
	config_list_restarts(app->config, config, restart, sizeof(restart));
	log_event(restart[0] == '\0' ? LOG_SEVERITY_INFO : LOG_SEVERITY_WARNING, "reloaded",
	          "file=\"%s\" upstreams=%zu allow=%zu needs_restart=\"%s\"", config->config_file,
	          config->upstream_count, config->allow_count, restart);
}

void reload(struct app *app)
{
	char error_text[CONFIG_ERROR_BYTES];
	struct config config;

	if (app->config->config_file == NULL) {
		log_event(LOG_SEVERITY_WARNING, "reload_ignored", "text=\"there is no --config\"");
		return;
	}
	if (config_parse_again(app->config, &config, error_text, sizeof(error_text)) != 0) {
		fail(app, error_text);
		return;
	}
	apply(app, &config);
	config_finish(&config);
}
