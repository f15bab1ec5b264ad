/* SPDX-License-Identifier: MIT */
/*
 * export_text.h - text of the target in formats that have a syntax: whatever its bytes, a reader
 * sees one harmless name. The formats' own characters come from the writers.
 */
#ifndef MEMATTACH_EXPORT_EXPORT_TEXT_H
#define MEMATTACH_EXPORT_EXPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "src/base/cleanup.h"
#include "src/view/view_sites.h"

/*
 * Each: 0 or -ENOMEM (nothing was written then). Broken UTF-8 becomes U+FFFD, control characters
 * and line ends '?'.
 */
int export_put_line(FILE *out, const char *text) _must_check_;
/* As part of a folded stack: ';' becomes ':', as the format has no escape; never empty. */
int export_put_folded(FILE *out, const char *text) _must_check_;
/*
 * As a field of CSV (RFC 4180): quoted, quotes doubled. What a spreadsheet would take for a formula
 * gets an apostrophe in front.
 */
int export_put_csv(FILE *out, const char *text) _must_check_;
/* As character data or attribute value of XML 1.0. */
int export_put_xml(FILE *out, const char *text) _must_check_;

/* A site's stack, outermost first, joined by ';'. */
int export_put_stack(FILE *out, const struct view_site *site) _must_check_;
/* At most INT64_MAX: for formats whose numbers are signed. */
static inline int64_t export_int64(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}
/* seconds as whole parts of a second: 0 for what is negative or no number, bounded. */
uint64_t export_ticks(double seconds, double per_second);

#endif
