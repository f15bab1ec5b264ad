/* SPDX-License-Identifier: MIT */
/* leaks_json.h - the "leaks" key of report_json.c's document. */
#ifndef MEMATTACH_REPORT_LEAKS_JSON_H
#define MEMATTACH_REPORT_LEAKS_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* Where memory was searched: what it found; else what was not freed, or null. Errors stick. */
void leaks_json_put(struct emit *emit, const struct report_input *input);

#endif
