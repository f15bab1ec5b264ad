/* SPDX-License-Identifier: MIT */
/* diff_write.h - a comparison, for people and for tools. */
#ifndef MEMATTACH_REPORT_DIFF_WRITE_H
#define MEMATTACH_REPORT_DIFF_WRITE_H

#include "src/report/diff.h"
#include "src/report/report.h"

/* pre: diff_compare was called. options.top: of each kind of change, 0: 10. 0, -errno. */
int diff_write_text(FILE *out, const struct diff *diff, const struct report_options *options)
	_must_check_;
/*
 * One document, as docs/diff.schema.json; options.top: entries of each list, those that grew
 * most; 0: all. 0, -errno, -ENOMEM.
 */
int diff_write_json(FILE *out, const struct diff *diff, const struct report_options *options)
	_must_check_;

#endif
