#ifndef SERVER_WALL_TIME_H
#define SERVER_WALL_TIME_H

#include <stdint.h>

enum { WALL_TIME_BYTES = 32 };

/** "2025-01-31T12:00:00.123Z" for a moment on CLOCK_MONOTONIC. */
void wall_time_print(int64_t moment_ns, char text[WALL_TIME_BYTES]);

#endif
