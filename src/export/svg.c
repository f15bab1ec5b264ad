/* SPDX-License-Identifier: MIT */
/* svg.c - see svg.h. Coordinates have a decimal point in any locale: the program sets none. */
#include "src/export/svg.h"

#include <errno.h>
#include <string.h>

#include "src/export/export_text.h"
#include "src/report/printable.h"

void svg_begin(FILE *out, double width, double height)
{
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-size=\"11\" "
		"font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		width, height, width, height);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

int svg_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
	int err;

	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	err = export_put_xml(out, text);
	fputs("</text>\n", out);
	return err;
}

/* Behind so many characters. */
static char *skip_characters(char *text, size_t count)
{
	for (; *text && count; count--) {
		text++;
		while (((unsigned char)*text & 0xc0u) == 0x80u)
			text++;
	}
	return text;
}

int svg_text_fit(FILE *out, double x, double y, double width, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);
	size_t room = width > 0 ? (size_t)(width / SVG_FONT_WIDTH) : 0;
	char *end;

	if (!copy)
		return -ENOMEM;
	if (room < 3)
		return 0;
	if (printable_columns(copy) > room) {
		end = skip_characters(copy, room - 2);
		memcpy(end, "..", 3);	/* at least 3 characters follow */
	}
	return svg_text(out, x, y, "start", copy);
}
