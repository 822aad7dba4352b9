#ifndef SERVER_HEALTHCHECK_H
#define SERVER_HEALTHCHECK_H

#include "server/config.h"

/*
 * The client half of a container's health check: an image without a shell has no
 * curl that could ask /readyz.
 */

enum { HEALTHCHECK_ERROR_BYTES = 512, HEALTHCHECK_WITHIN_MS = 3000 };

/**
 * GET config->healthcheck_url or, if that is NULL, /readyz of the server that has the
 * settings of @config. What listens on every address is asked on the loopback one.
 *
 * Blocks, at most HEALTHCHECK_WITHIN_MS and what looking up a name takes.
 * Returns 0 if the answer's status is 200 to 299, else a negative errno with one line in
 * @error, without newline: -EINVAL there is no http:// URL to ask, -EPROTO another answer, or
 * what connect(2), send(2) or recv(2) said.
 */
int healthcheck(const struct config *config, char error[HEALTHCHECK_ERROR_BYTES]);

#endif
