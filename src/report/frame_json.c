/* SPDX-License-Identifier: MIT */
/*
 * frame_json.c - frames as docs/snapshot.schema.json has them: definitions/frame. One machine
 * frame may be several: what the compiler inlined comes first.
 */
#include "src/report/frame_json.h"

void frame_json_put_members(struct emit *emit, const struct symbol_frame *frame)
{
	emit_text(emit, "function", frame->function);
	emit_uint_if(emit, "function_offset", frame->function_offset, frame->function);
	emit_text(emit, "file", frame->file);
	emit_uint_if(emit, "line", frame->line, frame->line);
	emit_uint_if(emit, "column", frame->column, frame->column);
	emit_text(emit, "module", frame->module);
	emit_text(emit, "build_id", frame->build_id[0] ? frame->build_id : NULL);
	emit_uint(emit, "offset", frame->offset);
	emit_bool(emit, "inlined", frame->inlined);
}

void frame_json_put(struct emit *emit, const struct report_names *names,
		    const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t parts = 0;
		const struct symbol_frame *part = names->frame(names->context, &frame[i], &parts);

		for (size_t inner = 0; inner < parts; inner++) {
			emit_begin(emit, NULL, '{');
			frame_json_put_members(emit, &part[inner]);
			emit_end(emit, '}');
		}
	}
}
