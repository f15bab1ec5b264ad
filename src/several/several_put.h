/* SPDX-License-Identifier: MIT */
/* several_put.h - lines and columns of the combined report. For several's texts only. */
#ifndef MEMATTACH_SEVERAL_PUT_H
#define MEMATTACH_SEVERAL_PUT_H

#include "src/several/several.h"
#include "src/report/style.h"

/* How many processes have a column of their own; the others share one. */
struct several_columns {
	size_t own, others;
	const struct several *several;
	const struct style *style;
	FILE *out;
};
struct several_columns several_columns(FILE *out, const struct several *several,
				       const struct report_options *options);
/* Two lines: ids and names; label stands above the rows' beginnings. */
void several_put_heads(const struct several_columns *columns, const char *label);
/*
 * label, then bytes: total, and what each process has (by_process, watched of them). 0 is "-".
 */
void several_put_row(const struct several_columns *columns, const char *label, uint64_t total,
		     const uint64_t *by_process);
/* The head of the report: a line per process and one for all. 0 or -ENOMEM. */
int several_put_processes(FILE *out, const struct several *several,
			  const struct report_options *options) _must_check_;
/* The leaks. pre: several->judged. The same. */
int several_put_leaks(FILE *out, const struct several *several, const struct report_input *input)
	_must_check_;

#endif
