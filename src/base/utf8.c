/* SPDX-License-Identifier: MIT */
/*
 * utf8.c - see utf8.h.
 *
 * Checks written by hand, not iconv or mbrtowc: those depend on the locale that memattach happens
 * to run in, and files for programs are UTF-8 in any.
 */
#include "src/base/utf8.h"

#include "src/base/cleanup.h"

struct utf8_form {
	unsigned char low, high, second_low, second_high;
	unsigned char bytes;
};

static const struct utf8_form form[] = {
	{ 0x01, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool has_form(const unsigned char *text, const struct utf8_form *f)
{
	if (text[0] < f->low || text[0] > f->high)
		return false;
	for (size_t at = 1; at < f->bytes; at++)
		if (text[at] < (at == 1 ? f->second_low : 0x80) ||
		    text[at] > (at == 1 ? f->second_high : 0xbf))
			return false;
	return true;
}

size_t utf8_length(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(form); i++)
		if (has_form((const unsigned char *)text, &form[i]))
			return form[i].bytes;
	return 0;
}

uint32_t utf8_code_point(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t value = length == 1 ? at[0] : at[0] & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		value = value << 6 | (at[i] & 0x3fu);
	return value;
}

bool utf8_is_control(uint32_t code)
{
	static const struct { uint32_t low, high; } range[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x206f }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < ARRAY_SIZE(range); i++)
		if (code >= range[i].low && code <= range[i].high)
			return true;
	return false;
}
