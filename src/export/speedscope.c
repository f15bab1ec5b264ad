/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c - speedscope's JSON: functions once, then a profile for each figure that anybody
 * wants to switch between, stacks outermost first with their weight.
 *
 * Its frames are functions: given a line each, main would be there once for each call in it.
 * JSON numbers beyond 2^53 lose their last digits in speedscope itself.
 */
#include "src/base/version.h"
#include "src/export/export.h"
#include "src/export/export_functions.h"
#include "src/report/emit.h"

static const enum view_metric shown[] = {
	VIEW_LIVE_BYTES, VIEW_LIVE_COUNT, VIEW_ALLOC_BYTES, VIEW_ALLOC_COUNT,
};

static void put_functions(struct emit *emit, const struct export_functions *functions)
{
	emit_begin(emit, "shared", '{');
	emit_begin(emit, "frames", '[');
	for (uint32_t i = 0; i < functions->count; i++) {
		emit_begin(emit, NULL, '{');
		emit_text(emit, "name", functions->function[i]->title);
		if (functions->function[i]->file)
			emit_text(emit, "file", functions->function[i]->file);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	emit_end(emit, '}');
}

static void put_stack(struct emit *emit, const struct export_functions *functions,
		      const struct view_site *site)
{
	emit_begin(emit, NULL, '[');
	for (uint32_t i = site->frame_count; i > 0; i--)
		emit_uint(emit, NULL, functions->of_frame[site->frame[i - 1]->index]);
	emit_end(emit, ']');
}

static void put_profile(struct emit *emit, const struct export_functions *functions,
			const struct view_sites *sites, enum view_metric metric)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "type", "sampled");
	emit_text(emit, "name", view_metric_words(metric));
	emit_text(emit, "unit", view_metric_is_bytes(metric) ? "bytes" : "none");
	emit_uint(emit, "startValue", 0);
	emit_uint(emit, "endValue", sites->sum[metric]);
	emit_begin(emit, "samples", '[');
	for (size_t i = 0; i < sites->count; i++) {
		if (view_metric_value(sites->site[i].figures, metric))
			put_stack(emit, functions, &sites->site[i]);
	}
	emit_end(emit, ']');
	emit_begin(emit, "weights", '[');
	for (size_t i = 0; i < sites->count; i++) {
		uint64_t value = view_metric_value(sites->site[i].figures, metric);

		if (value)
			emit_uint(emit, NULL, value);
	}
	emit_end(emit, ']');
	emit_end(emit, '}');
}

int export_speedscope(FILE *out, const struct export_input *input)
{
	_cleanup_(export_functions_done) struct export_functions functions;
	struct emit emit = { .out = out };
	int err = export_functions_init(&functions, input->sites);

	if (err < 0)
		return err;
	emit_begin(&emit, NULL, '{');
	emit_text(&emit, "$schema", "https://www.speedscope.app/file-format-schema.json");
	emit_text(&emit, "name", input->content->snapshot->target.cmdline);
	emit_text(&emit, "exporter", "memattach " VERSION_TEXT);
	emit_uint(&emit, "activeProfileIndex", 0);
	put_functions(&emit, &functions);
	emit_begin(&emit, "profiles", '[');
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		put_profile(&emit, &functions, input->sites, shown[i]);
	emit_end(&emit, ']');
	emit_end(&emit, '}');
	return emit_finish(&emit);
}
