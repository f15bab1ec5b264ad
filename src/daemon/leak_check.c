/* SPDX-License-Identifier: MIT */
/* leak_check.c - see leak_check.h. */
#include "src/daemon/leak_check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/quantity.h"

/* "4:05" and the rest of the text; NULL: none begins there. */
static const char *read_time(const char *at, uint16_t *ret)
{
	unsigned int hour, minute;
	int used = 0;

	if (sscanf(at, "%2u:%2u%n", &hour, &minute, &used) != 2 || hour > 23 || minute > 59 ||
	    at[used - 3] != ':' || (at[used] && at[used] != ' '))
		return NULL;
	*ret = (uint16_t)(hour * 60 + minute);
	return at + used + strspn(at + used, " ");
}

static int read_times(const char *value, struct leak_check *to)
{
	struct leak_check check = { .kind = LEAK_CHECK_AT };

	while (value && *value && check.times < LEAK_CHECK_TIMES)
		value = read_time(value, &check.minute[check.times++]);
	if (!value || *value || check.times == 0)
		return -EINVAL;
	*to = check;
	return 0;
}

int leak_check_read(const char *value, struct leak_check *to)
{
	double seconds;

	if (strcmp(value, "never") == 0) {
		*to = (struct leak_check){ .kind = LEAK_CHECK_NEVER };
	} else if (strcmp(value, "on-growth") == 0) {
		*to = (struct leak_check){ .kind = LEAK_CHECK_ON_GROWTH };
	} else if (quantity_seconds(value, &seconds) == 0) {
		if (seconds < LEAK_CHECK_LEAST)
			return -EINVAL;
		*to = (struct leak_check){ .kind = LEAK_CHECK_EVERY, .every = seconds };
	} else {
		return read_times(value, to);
	}
	return 0;
}

/* In the hour that a summer's clock leaves out, mktime() takes the one after it. */
static double until(uint16_t minute, time_t wall, int days)
{
	struct tm tm;

	(void)localtime_r(&wall, &tm);
	tm.tm_mday += days;
	tm.tm_hour = minute / 60;
	tm.tm_min = minute % 60;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return difftime(mktime(&tm), wall);
}

double leak_check_next(const struct leak_check *check, time_t wall)
{
	double next = INFINITY;

	if (check->kind == LEAK_CHECK_EVERY)
		return check->every;
	if (check->kind != LEAK_CHECK_AT)
		return INFINITY;
	for (uint32_t i = 0; i < check->times; i++)
		for (int days = 0; days < 2; days++) {
			double seconds = until(check->minute[i], wall, days);

			if (seconds > 0)
				next = fmin(next, seconds);
		}
	return next;
}
