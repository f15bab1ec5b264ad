/* SPDX-License-Identifier: MIT */
/*
 * export_json.c - the document of `memattach report --json` (docs/snapshot.schema.json), all of it.
 */
#include "src/export/export.h"

int export_json(FILE *out, const struct export_input *input)
{
	const struct recording_content *content = input->content;

	return report_find("json")->write(out, &(struct report_input){
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.leaks = content->leaks,
	});
}
