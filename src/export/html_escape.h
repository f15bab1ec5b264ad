/* SPDX-License-Identifier: MIT */
/* html_escape.h - JSON on its way into a <script> element. */
#ifndef MEMATTACH_EXPORT_HTML_ESCAPE_H
#define MEMATTACH_EXPORT_HTML_ESCAPE_H

#include <stdio.h>

#include "src/base/cleanup.h"

/*
 * A stream that writes JSON to under with <, > and & as \u003c and so on: no text can end the
 * element or begin a comment, and the document stays the same to every reader of JSON. To be
 * closed with fclose (a failure of under shows there at the latest); under stays open.
 * 0 or -errno.
 */
int html_escape_open(FILE *under, FILE **ret) _must_check_;

#endif
