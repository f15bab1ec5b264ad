/* SPDX-License-Identifier: MIT */
/* svg.h - what pictures share: plain SVG 1.1, no script, no style sheet, system fonts. */
#ifndef MEMATTACH_EXPORT_SVG_H
#define MEMATTACH_EXPORT_SVG_H

#include <stdio.h>

#include "src/base/cleanup.h"

#define SVG_FONT_WIDTH 6.7	/* of a character of the 11 pixel font, at the most */

/* The document's beginning: size in pixels, a white ground. */
void svg_begin(FILE *out, double width, double height);
void svg_end(FILE *out);
/* anchor: "start", "middle", "end". Text of the target may be in it. 0 or -ENOMEM. */
int svg_text(FILE *out, double x, double y, const char *anchor, const char *text) _must_check_;
/* As svg_text, no wider than width pixels: cut, with dots; nothing where nothing fits. */
int svg_text_fit(FILE *out, double x, double y, double width, const char *text) _must_check_;

#endif
