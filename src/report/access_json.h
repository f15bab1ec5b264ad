/* SPDX-License-Identifier: MIT */
/* access_json.h - what --access found out, in the document. */
#ifndef MEMATTACH_REPORT_ACCESS_JSON_H
#define MEMATTACH_REPORT_ACCESS_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* "access" of the leaks: how it was watched; null: it was not asked for. */
void access_json_put_run(struct emit *emit, const struct leak_access_run *run);
/* "access" of a group; null: none of its blocks was watched. */
void access_json_put(struct emit *emit, const struct report_names *names,
		     const struct leak_group *group);

#endif
