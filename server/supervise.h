#ifndef SERVER_SUPERVISE_H
#define SERVER_SUPERVISE_H

#include "server/app.h"

/**
 * What the main thread does while the server runs: read the CPU quota every second, reload
 * (reload.h) when a SIGHUP comes from @signal_fd, and with another signal drain, as
 * --drain-delay-ms and --drain-ms say.
 *
 * From the first signal on, a second one ends the process at once with 128 + its number. So does
 * a drain that gets stuck, with 1. Returns once all fronts are drained.
 */
void supervise(struct app *app, int signal_fd);

#endif
