/* SPDX-License-Identifier: MIT */
/* export_text.c - see export_text.h. */
#include "src/export/export_text.h"

#include <errno.h>
#include <string.h>

#include "src/report/printable.h"

#define TICKS_MAX ((double)(1ull << 62))

int export_put_line(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	fputs(copy, out);
	return 0;
}

int export_put_folded(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	for (char *at = strchr(copy, ';'); at; at = strchr(at, ';'))
		*at = ':';
	fputs(copy[0] ? copy : "?", out);
	return 0;
}

int export_put_csv(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	fputc('"', out);
	if (copy[0] && strchr("=+-@", copy[0]))
		fputc('\'', out);
	for (const char *at = copy; *at; at++) {
		if (*at == '"')
			fputc('"', out);
		fputc(*at, out);
	}
	fputc('"', out);
	return 0;
}

static const char *xml_entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

int export_put_xml(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	for (const char *at = copy; *at; at++) {
		const char *entity = xml_entity(*at);

		if (entity) {
			fputs(entity, out);
		} else if (!strncmp(at, "\xef\xbf\xbe", 3) || !strncmp(at, "\xef\xbf\xbf", 3)) {
			fputc('?', out);	/* valid UTF-8, but not for XML */
			at += 2;
		} else {
			fputc(*at, out);
		}
	}
	return 0;
}

int export_put_stack(FILE *out, const struct view_site *site)
{
	int err = 0;

	for (uint32_t i = site->frame_count; err == 0 && i > 0; i--) {
		err = export_put_folded(out, site->frame[i - 1]->title);
		if (i > 1)
			fputc(';', out);
	}
	return err;
}

uint64_t export_ticks(double seconds, double per_second)
{
	double ticks = seconds * per_second;

	if (!(ticks > 0))
		return 0;
	return ticks < TICKS_MAX ? (uint64_t)ticks : (uint64_t)TICKS_MAX;
}
