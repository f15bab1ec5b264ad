/* SPDX-License-Identifier: MIT */
/*
 * folded.c - "outer;inner 123": one line a stack, the figure last.
 *
 * Sites whose stacks read the same (other lines of one function, mappings beside blocks) have a
 * line each: every reader adds them up, and to do it here would lose the order by size.
 */
#include "src/export/export.h"
#include "src/export/export_text.h"

int export_folded(FILE *out, const struct export_input *input)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < input->sites->count; i++) {
		const struct view_site *site = &input->sites->site[i];
		uint64_t value = view_metric_value(site->figures, input->metric);

		if (!value)
			continue;
		err = export_put_stack(out, site);
		fprintf(out, " %llu\n", (unsigned long long)value);
	}
	return err;
}
