#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "server/app.h"

/**
 * Read the file of --config again, and have what begins from now on go by it: the upstreams and
 * what else may be called, and the limits of requests (live_limits.h). What is under way
 * goes on with what it has. Of the other settings those that have changed are named in the log,
 * since they need a restart.
 *
 * If anything is wrong with it, one line in the log says what and where, and everything stays as
 * it is. Main thread only; blocks for as long as reading takes.
 */
void reload(struct app *app);

#endif
