/* SPDX-License-Identifier: MIT */
/*
 * frame_json.c - frames as docs/snapshot.schema.json has them: definitions/frame. One machine
 * frame may be several: what the compiler inlined comes first.
 *
 * A document of 300,000 sites has ten million frames, of which 20,000 differ: each is put into
 * words once, and copied after that. What was written is found by the machine frame and the names
 * that were said to be its: others may be said another time (symbolizer_frame_soon).
 */
#include "src/report/frame_json.h"

#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/base/cleanup.h"

#define MAX_TEXTS	(1u << 16)	/* some 20 MB */

struct text_key {
	struct frame machine;
	const struct symbol_frame *from;
};
struct frame_text {
	struct text_key key;
	UT_hash_handle hh;
	size_t bytes;
	char text[];
};
struct frame_texts {
	struct frame_text *known;
};

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

static void put_parts(struct emit *emit, const struct symbol_frame *part, size_t parts)
{
	for (size_t inner = 0; inner < parts; inner++) {
		emit_begin(emit, NULL, '{');
		frame_json_put_members(emit, &part[inner]);
		emit_end(emit, '}');
	}
}

/* NULL: it can't be kept. */
static struct frame_text *make_text(const struct text_key *key, size_t parts)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	struct emit emit = { .out = open_memstream(&text, &bytes) };
	struct frame_text *made = NULL;

	if (!emit.out)
		return NULL;
	put_parts(&emit, key->from, parts);
	if (fclose(emit.out) == 0 && !emit.error)
		made = malloc(sizeof(*made) + bytes);
	if (!made)
		return NULL;
	made->key = *key;
	made->bytes = bytes;
	memcpy(made->text, text, bytes);
	return made;
}

/* What was written of the frame before, or is to be; NULL: it is not kept. */
static const struct frame_text *find_text(struct frame_texts *texts, const struct text_key *key,
					  size_t parts)
{
	struct frame_text *text;

	HASH_FIND(hh, texts->known, key, sizeof(*key), text);
	if (text || HASH_COUNT(texts->known) == MAX_TEXTS)
		return text;
	text = make_text(key, parts);
	if (!text)
		return NULL;
	text->hh.tbl = NULL;
	HASH_ADD(hh, texts->known, key, sizeof(*key), text);
	if (text->hh.tbl)
		return text;
	free(text);
	return NULL;
}

static void put_frame(struct emit *emit, const struct report_names *names,
		      const struct frame *frame)
{
	struct text_key key = { .machine = *frame };
	const struct frame_text *text = NULL;
	size_t parts = 0;

	key.from = names->frame(names->context, frame, &parts);
	if (emit->frames)
		text = find_text(emit->frames, &key, parts);
	if (text)
		emit_members(emit, text->text, text->bytes);
	else
		put_parts(emit, key.from, parts);
}

void frame_json_put(struct emit *emit, const struct report_names *names,
		    const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_frame(emit, names, &frame[i]);
}

void frame_json_remember(struct emit *emit)
{
	emit->frames = calloc(1, sizeof(*emit->frames));
}

void frame_json_forget(struct emit *emit)
{
	struct frame_text *text, *next;

	if (!emit->frames)
		return;
	HASH_ITER(hh, emit->frames->known, text, next) {
		HASH_DEL(emit->frames->known, text);
		free(text);
	}
	free(emit->frames);
	emit->frames = NULL;
}
