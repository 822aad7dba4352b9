#include "clients/retry_after.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "executors/decimal.h"

enum { DATE_BYTES = 40 };

/* Days from 1970-01-01 to a day of the Gregorian calendar, with years that begin in March:
 * https://howardhinnant.github.io/date_algorithms.html#days_from_civil. timegm(3) would read the
 * time zone's file, for nothing. */
static int64_t days_before(int64_t year, int month, int day)
{
	int64_t era, year_of_era, day_of_year;

	year -= month <= 2;
	era = year / 400;
	year_of_era = year - era * 400;
	day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static int64_t seconds_since_1970(const struct tm *tm)
{
	int64_t days = days_before(tm->tm_year + INT64_C(1900), tm->tm_mon + 1, tm->tm_mday);

	return ((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;
}

/* Names of days and months are English: the program never calls setlocale(3). */
static bool read_date(const char *text, int64_t *when)
{
	static const char *const forms[] = {
		"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
		"%a %b %e %H:%M:%S %Y",                                   /* asctime(3) */
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = {0};
		const char *end = strptime(text, forms[i], &tm);

		if (end && *end == '\0' && tm.tm_year >= 0) {
			*when = seconds_since_1970(&tm);
			return true;
		}
	}
	return false;
}

static unsigned clamp(int64_t seconds)
{
	if (seconds < 0)
		return 0;
	return seconds > UINT_MAX ? UINT_MAX : (unsigned)seconds;
}

static bool is_number(const char *value, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (value[i] < '0' || value[i] > '9')
			return false;
	return length > 0;
}

bool retry_after_read(const char *value, size_t length, time_t now, unsigned *seconds)
{
	char text[DATE_BYTES];
	uint64_t number;
	int64_t when;

	if (is_number(value, length)) {
		*seconds = decimal_read(value, length, &number) && number < UINT_MAX
		                   ? (unsigned)number
		                   : UINT_MAX;
		return true;
	}
	if (length >= sizeof(text))
		return false;
	memcpy(text, value, length);
	text[length] = '\0';
	if (!read_date(text, &when))
		return false;
	*seconds = clamp(when - (int64_t)now);
	return true;
}
