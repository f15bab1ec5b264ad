/* SPDX-License-Identifier: MIT */
/* wrong_frees_json.h - the "wrong_frees" key of report_json.c's document. */
#ifndef MEMATTACH_REPORT_WRONG_FREES_JSON_H
#define MEMATTACH_REPORT_WRONG_FREES_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* What was found; null where it was not looked for (not exact). Errors stick. */
void wrong_frees_json_put(struct emit *emit, const struct report_input *input);

#endif
