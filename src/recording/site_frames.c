/* SPDX-License-Identifier: MIT */
/* site_frames.c - see site_frames.h. */
#include "src/recording/site_frames.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_SOURCE 65536u	/* source-level frames of a stack */

static int reach(struct site_frames *f)
{
	uint32_t room = f->frame_room ? f->frame_room * 2 : 64;
	struct diff_frame *grown;

	if (f->frame_count < f->frame_room)
		return 0;
	grown = reallocarray(f->frame, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->frame = grown;
	f->frame_room = room;
	return 0;
}

/* All that there is at one machine frame, innermost first. */
static int add_frame(struct site_frames *f, const struct recording_content *content,
		     const struct frame *frame)
{
	const struct report_names *names = &content->names;
	const char *build_id = f->match(f->context, recording_build_id(content, frame->module),
					recording_module_path(content, frame->module));
	size_t count;
	const struct symbol_frame *symbol = names->frame(names->context, frame, &count);

	for (size_t i = 0; i < count && f->frame_count < MAX_SOURCE; i++) {
		if (reach(f) < 0)
			return -ENOMEM;
		f->frame[f->frame_count++] = (struct diff_frame){
			.function = f->keep(f->context, symbol[i].function),
			.file = f->keep(f->context, symbol[i].file),
			.module = f->keep(f->context, symbol[i].module),
			.offset = symbol[i].offset, .line = symbol[i].line,
			.column = symbol[i].column,
			.inlined = i + 1 < count,	/* the last is the machine frame's */
			.build_id = build_id, .code = f->with_code ? frame->offset : 0,
		};
	}
	return 0;
}

int site_frames_take(struct site_frames *f, const struct recording_content *content,
		     const struct snapshot_site *site)
{
	struct stack stack = stacks_get(content->stacks, site->stack);
	int err = 0;

	f->frame_count = 0;
	for (uint32_t i = site->skip_frames; err == 0 && i < stack.frame_count; i++)
		err = add_frame(f, content, &stack.frame[i]);
	return err;
}

void site_frames_done(struct site_frames *f)
{
	free(f->frame);
	f->frame = NULL;
	f->frame_count = f->frame_room = 0;
}
