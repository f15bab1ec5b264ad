/* SPDX-License-Identifier: MIT */
/* quantity.c - see quantity.h. */
#include "src/base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS 1e9

int quantity_size(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long long value;
	unsigned int shift = 0;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;		/* no sign, which a blank may hide */
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	if (*end) {
		const char *suffix = strchr("kKmMgG", *end);

		if (!suffix || end[1])
			return -EINVAL;
		shift = 10u * (1u + (unsigned int)(strchr("kmg", *suffix | 0x20) - "kmg"));
	}
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret = value << shift;
	return 0;
}

static const struct {
	const char *name;
	double seconds;
} unit[] = {
	{ "", 1 }, { "ms", 1e-3 }, { "s", 1 }, { "sec", 1 }, { "min", 60 }, { "m", 60 },
	{ "h", 3600 }, { "d", 86400 }, { "w", 604800 },
};

/* A number at *text, which moves behind it and behind blanks. */
static int read_number(const char **text, double *ret)
{
	char *end;

	if (!isdigit((unsigned char)**text) && **text != '.')
		return -EINVAL;		/* no sign, no "inf", no "nan" */
	*ret = strtod(*text, &end);
	if (end == *text || !isfinite(*ret))
		return -EINVAL;		/* "." alone is none: it would be looked at for ever */
	*text = end + strspn(end, " \t");
	return 0;
}

static int read_unit(const char **text, double *ret)
{
	size_t length = 0;

	while (isalpha((unsigned char)(*text)[length]))
		length++;
	for (size_t i = 0; i < ARRAY_SIZE(unit); i++)
		if (strlen(unit[i].name) == length && strncmp(*text, unit[i].name, length) == 0) {
			*ret = unit[i].seconds;
			*text += length + strspn(*text + length, " \t");
			return 0;
		}
	return -EINVAL;
}

int quantity_seconds(const char *text, double *ret)
{
	double sum = 0, number, seconds;

	if (!*text)
		return -EINVAL;
	while (*text) {
		if (read_number(&text, &number) || read_unit(&text, &seconds))
			return -EINVAL;
		sum += number * seconds;
	}
	if (sum > MOST_SECONDS)
		return -EINVAL;
	*ret = sum;
	return 0;
}

int quantity_percent(const char *text, double *ret)
{
	double value;

	if (read_number(&text, &value))
		return -EINVAL;
	text += *text == '%';
	if (*text || value <= 0 || value > 100)
		return -EINVAL;
	*ret = value;
	return 0;
}
