#ifndef EXECUTORS_EPOLL_WAIT_UNTIL_H
#define EXECUTORS_EPOLL_WAIT_UNTIL_H

#include <sys/epoll.h>

#include "executors/deadline.h"

/**
 * epoll_wait(2) until @deadline, to the nanosecond where the kernel can
 * (epoll_pwait2, Linux 5.11), else to the millisecond above. A passed deadline
 * only looks.
 *
 * Returns the number of events; 0 also when a signal interrupted it.
 */
int epoll_wait_until(int epoll_fd, struct epoll_event *events, int max, struct deadline deadline);

#endif
