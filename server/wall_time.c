#include "server/wall_time.h"

#include <stdio.h>
#include <time.h>

#include "executors/deadline.h"

void wall_time_print(int64_t moment_ns, char text[WALL_TIME_BYTES])
{
	struct timespec now;
	struct tm utc;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	int64_t wall_ns =
		now.tv_sec * INT64_C(1000000000) + now.tv_nsec - (deadline_now_ns() - moment_ns);
	time_t seconds = wall_ns / 1000000000;

	(void)gmtime_r(&seconds, &utc);
	size_t length = strftime(text, WALL_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);

	if (snprintf(text + length, WALL_TIME_BYTES - length, ".%03dZ",
	             (int)(wall_ns / 1000000 % 1000)) < 0)
		text[0] = '\0';
}
