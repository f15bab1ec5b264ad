/* SPDX-License-Identifier: MIT */
/* style.h - how a terminal shows emphasis; all empty without colour. */
#ifndef MEMATTACH_REPORT_STYLE_H
#define MEMATTACH_REPORT_STYLE_H

#include "src/report/report.h"

struct style {
	const char *plain, *bold, *dim, *name, *warn;
};

static inline const struct style *style_for(const struct report_options *options)
{
	static const struct style none = { "", "", "", "", "" };
	static const struct style colored = { "\033[0m", "\033[1m", "\033[2m", "\033[36m",
					      "\033[33m" };

	return options->color ? &colored : &none;
}

#endif
