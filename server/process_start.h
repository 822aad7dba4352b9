#ifndef SERVER_PROCESS_START_H
#define SERVER_PROCESS_START_H

/* What fanoutd and slow-endpoint do before they open anything. Main thread only. */

/**
 * Put /dev/null where a standard stream is closed: what is opened next would take its place, and
 * get what is written to it.
 */
void process_fill_standard_streams(void);

/**
 * Raise the soft limit of open descriptors to the hard one. Every call in flight takes one, and
 * the soft limit is often 1,024 for select()'s sake. Returns 0, or -errno of setrlimit(2): the
 * limit is as it was.
 */
int process_raise_fd_limit(void);

#endif
