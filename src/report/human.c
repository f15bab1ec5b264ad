/* SPDX-License-Identifier: MIT */
/*
 * human.c - three significant digits and a unit.
 *
 * Binary units for bytes, since allocators and pages are binary; decimal ones for
 * counts. Whole numbers below a thousand (bytes: 1024) are printed as they are.
 * No locale: reports are compared and parsed by scripts, whatever LC_ALL says.
 */
#include "src/report/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cleanup.h"

/* value in 0 .. 9999 with three significant digits, never a decimal comma. */
static void put_three_digits(char *text, double value)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	char *comma;

	snprintf(text, HUMAN_BYTES, "%.*f", decimals, value);
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
}

static void append(struct human *human, const char *suffix)
{
	size_t length = strlen(human->text);

	snprintf(human->text + length, HUMAN_BYTES - length, "%s", suffix);
}

/* value / step^n with unit[n]; whole: value itself is a whole number. */
static struct human scale(double value, double step, const char *const *unit, size_t units)
{
	struct human human = { "" };
	size_t n = 0;

	if (value < 0 || !isfinite(value))
		value = 0;
	for (; value >= step - 0.5 && n + 1 < units; n++)
		value /= step;
	if (n == 0)
		snprintf(human.text, HUMAN_BYTES, "%.0f", value);
	else
		put_three_digits(human.text, value);
	append(&human, unit[n]);
	return human;
}

struct human human_bytes(double bytes)
{
	static const char *const unit[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB" };

	return scale(bytes, 1024, unit, ARRAY_SIZE(unit));
}

struct human human_bytes_signed(double bytes)
{
	struct human size = human_bytes(fabs(bytes)), human = { "" };

	if (strcmp(size.text, "0 B") != 0)
		append(&human, bytes < 0 ? "-" : "+");
	append(&human, size.text);
	return human;
}

struct human human_exact(uint64_t value)
{
	char digits[HUMAN_BYTES];
	struct human human = { "" };
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu",
					 (unsigned long long)value), to = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			human.text[to++] = ',';
		human.text[to++] = digits[i];
	}
	return human;
}

struct human human_count(double count)
{
	static const char *const unit[] = { "", " k", " M", " G", " T", " P" };

	if (count >= 0 && count < 9999.5)
		return human_exact((uint64_t)llround(count));
	return scale(count, 1000, unit, ARRAY_SIZE(unit));
}

static struct human two_units(double seconds, double unit, const char *name, double smaller,
			      const char *smaller_name)
{
	struct human human = { "" };
	double whole = floor(seconds / unit);

	snprintf(human.text, HUMAN_BYTES, "%.0f %s %.0f %s", whole, name,
		 floor((seconds - whole * unit) / smaller), smaller_name);
	return human;
}

struct human human_seconds(double seconds)
{
	static const char *const unit[] = { " ns", " us", " ms", " s" };
	struct human human = { "" };
	size_t n = 3;

	if (!(seconds > 0))
		return (struct human){ "0 s" };
	if (seconds >= 86400)
		return two_units(fmin(seconds, 1e12), 86400, "d", 3600, "h");
	if (seconds >= 3600)
		return two_units(seconds, 3600, "h", 60, "min");
	if (seconds >= 99.95)
		return two_units(seconds, 60, "min", 1, "s");
	for (; seconds < 0.9995 && n > 0; n--)
		seconds *= 1000;
	put_three_digits(human.text, seconds);
	append(&human, unit[n]);
	return human;
}
