/* SPDX-License-Identifier: MIT */
/* frame_json.h - a source-level frame as an object of the document. */
#ifndef MEMATTACH_REPORT_FRAME_JSON_H
#define MEMATTACH_REPORT_FRAME_JSON_H

#include "src/report/emit.h"
#include "src/report/report.h"

/* All source-level frames of frame[0 .. count), innermost first, as members of an array. */
void frame_json_put(struct emit *emit, const struct report_names *names,
		    const struct frame *frame, uint32_t count);

/*
 * The members of one such object, without begin and end of the object: function NULL unknown,
 * file NULL, line and column 0.
 */
void frame_json_put_members(struct emit *emit, const struct symbol_frame *frame);

/*
 * From here on emit keeps what frame_json_put() writes of a machine frame, for the next time: of a
 * document with many stacks. Without memory all is written anew. To be ended with
 * frame_json_forget() before the names are.
 */
void frame_json_remember(struct emit *emit);
void frame_json_forget(struct emit *emit);

#endif
