/* SPDX-License-Identifier: MIT */
/* report_text.h - reports for people. */
#ifndef MEMATTACH_REPORT_TEXT_H
#define MEMATTACH_REPORT_TEXT_H

#include "src/report/report.h"

/* What was watched, how precisely, what was lost; totals; the top sites; leaks when asked for. */
int text_write(FILE *out, const struct report_input *input) _must_check_;
/* What was watched, how precisely, and of the rest the leaks alone. */
int text_write_leaks(FILE *out, const struct report_input *input) _must_check_;
/* The head of a report on a part: what was watched, how precisely, what was lost. */
void text_put_head(FILE *out, const struct report_input *input);
/* The head of text_write and its totals. */
void text_put_overview(FILE *out, const struct report_input *input);
/* A few lines for reprinting while attached: totals, and one line per top site. */
int text_write_live(FILE *out, const struct report_input *input) _must_check_;

#endif
