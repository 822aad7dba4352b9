#ifndef SERVER_BACKLOG_LIMIT_H
#define SERVER_BACKLOG_LIMIT_H

/**
 * The kernel's cap on listen backlogs (net.core.somaxconn); a longer one is cut to it silently.
 * Any thread. Returns -errno when it cannot be read.
 */
int backlog_limit(void);

#endif
