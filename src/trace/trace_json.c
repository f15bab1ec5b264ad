/* SPDX-License-Identifier: MIT */
/* trace_json.c - the log of calls as JSON lines: docs/trace.schema.json, one object a line. */
#include <string.h>

#include "src/base/version.h"
#include "src/report/emit.h"
#include "src/report/frame_json.h"
#include "src/trace/format.h"

#define SCHEMA "memattach-trace-1"

/* For frame_json_put: frames that are known already. */
struct known_frames {
	const struct symbol_frame *frame;
	size_t count;
};

static const struct symbol_frame *known_frame(void *context, const struct frame *frame,
					      size_t *ret_count)
{
	const struct known_frames *known = context;

	(void)frame;
	*ret_count = known->count;
	return known->frame;
}

static char *json_place(const struct symbol_frame *frame, size_t count)
{
	struct known_frames known = { frame, count };
	const struct report_names names = { .frame = known_frame, .context = &known };
	const struct frame unused = { 0 };
	char *text = NULL;
	size_t bytes;
	struct emit emit = { .out = open_memstream(&text, &bytes) };

	if (!emit.out)
		return NULL;
	emit_begin(&emit, "frames", '[');
	frame_json_put(&emit, &names, &unused, 1);
	emit_end(&emit, ']');
	if (fclose(emit.out) == 0 && !emit.error)
		return text;
	free(text);
	return NULL;
}

static void put_address(struct emit *emit, const char *key, uint64_t address)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	emit_text(emit, key, text);
}

static void put_address_if(struct emit *emit, const char *key, uint64_t address)
{
	if (address)
		put_address(emit, key, address);
	else
		emit_null(emit, key);
}

static void put_value(struct emit *emit, const char *key, enum trace_type type, uint64_t value)
{
	if (type == TRACE_POINTER)
		put_address(emit, key, value);
	else if (type == TRACE_SIGNED)
		emit_int(emit, key, (int64_t)value);
	else if (type == TRACE_BYTES)
		emit_uint(emit, key, value);
	else if (type == TRACE_END)
		emit_null(emit, key);
	else
		emit_int(emit, key, (int32_t)(uint32_t)value);
}

static void put_seconds_if(struct emit *emit, const char *key, double seconds, bool known)
{
	if (known)
		emit_real(emit, key, seconds);
	else
		emit_null(emit, key);
}

static void begin_event(struct emit *emit, const char *event)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "event", event);
}

static void end_event(struct emit *emit)
{
	emit_end(emit, '}');
	fputc('\n', emit->out);
}

static void json_begin(FILE *out, struct trace_scene *scene)
{
	struct emit emit = { .out = out };

	begin_event(&emit, "begin");
	emit_text(&emit, "schema", SCHEMA);
	emit_text(&emit, "version", VERSION_TEXT);
	emit_int(&emit, "pid", scene->hello->pid);
	emit_text(&emit, "exe", scene->hello->exe);
	emit_text(&emit, "cmdline", scene->hello->cmdline);
	emit_real(&emit, "begin_time", scene->begin_time);
	end_event(&emit);
}

static void put_arguments(struct emit *emit, const struct trace_line *call)
{
	emit_begin(emit, "arguments", '[');
	for (unsigned int i = 0; trace_argument_type(call, i) != TRACE_END; i++)
		put_value(emit, NULL, trace_argument_type(call, i), call->argument[i]);
	emit_end(emit, ']');
}

/* What came of it. */
static void put_effect(struct emit *emit, const struct trace_line *call)
{
	uint64_t bytes = 0;
	bool known = trace_size(call, &bytes), returned = call->end != 0;

	put_value(emit, "result", returned ? trace_result_type(call) : TRACE_END, call->result);
	emit_bool(emit, "returned", returned);
	emit_bool(emit, "failed", trace_failed(call));
	if (call->wrong)
		emit_text(emit, "wrong", call->wrong == TRACE_FREED_TWICE ? "double-free" :
									    "illegal-free");
	put_address_if(emit, "address", trace_given(call));
	put_address_if(emit, "freed", trace_taken(call));
	emit_uint_if(emit, "size", bytes, known);
	emit_uint_if(emit, "freed_size", call->old_size, trace_taken(call) && call->old_known);
}

static void put_call(struct emit *emit, const struct trace_scene *scene,
		     const struct trace_line *call)
{
	emit_uint_if(emit, "thread", call->tid, call->tid);
	put_address(emit, "thread_pointer", call->thread);
	emit_text(emit, "kind", trace_is_mapping(call) ? "mmap" : "malloc");
	emit_text(emit, "call", trace_scene_call(scene, call));
	put_arguments(emit, call);
	put_effect(emit, call);
	put_seconds_if(emit, "begin", ticks_seconds(scene->ticks, call->begin), call->end);
	put_seconds_if(emit, "inside", ticks_span(scene->ticks, call->end - call->begin),
		       call->end);
}

static void put_place(struct emit *emit, const char *place)
{
	if (emit->comma)
		fputc(',', emit->out);
	fputs(place, emit->out);	/* "frames":[...] */
	emit->comma = true;
}

static void json_line(FILE *out, struct trace_scene *scene, const struct trace_line *line,
		      const char *place)
{
	struct emit emit = { .out = out };

	begin_event(&emit, line->kind == TRACE_CALL ? "call" :
			   line->kind == TRACE_GAP ? "gap" : "lost");
	emit_real(&emit, "time", trace_scene_time(scene, line->time));
	if (line->kind == TRACE_CALL) {
		put_call(&emit, scene, line);
		put_place(&emit, place);
	} else if (line->kind == TRACE_GAP) {
		emit_real(&emit, "duration", ticks_span(scene->ticks, line->count));
	} else {
		emit_uint(&emit, "count", line->count);
		emit_text(&emit, "why", line->kind == TRACE_LATE ? "late" : "full");
	}
	end_event(&emit);
}

static void put_missing(struct emit *emit, const struct trace_end *end)
{
	const struct snapshot_session *session = &end->snapshot->session;

	emit_uint(emit, "calls", end->counts.shown);
	emit_uint(emit, "filtered", end->counts.filtered);
	emit_uint(emit, "unreturned", end->counts.unreturned);
	emit_begin(emit, "lost", '{');
	emit_uint(emit, "full", end->counts.lost);
	emit_uint(emit, "late", end->counts.late);
	emit_uint(emit, "alloc", session->lost.alloc);
	emit_uint(emit, "free", session->lost.free);
	emit_uint(emit, "map", session->lost.map);
	emit_end(emit, '}');
}

static void json_end(FILE *out, struct trace_scene *scene, const struct trace_end *end)
{
	const struct snapshot_totals *totals = &end->snapshot->totals;
	const struct snapshot_map_totals *maps = &end->snapshot->map_totals;
	struct emit emit = { .out = out };

	(void)scene;
	begin_event(&emit, "totals");
	emit_real(&emit, "duration", end->snapshot->session.duration);
	emit_text(&emit, "detached", snapshot_detached_name(end->snapshot->session.detached));
	emit_uint_if(&emit, "killed_by_signal", end->signal, end->signal);
	put_missing(&emit, end);
	emit_uint(&emit, "allocated_count", totals->alloc_count);
	emit_uint(&emit, "allocated_total", totals->alloc_bytes);
	emit_real(&emit, "allocated_avg", totals->alloc_count ?
		  (double)totals->alloc_bytes / (double)totals->alloc_count : 0.0);
	emit_uint(&emit, "freed_count", totals->free_count);
	emit_uint(&emit, "freed_total", totals->free_bytes);
	emit_uint(&emit, "freed_older_count", totals->free_unknown_count);
	emit_uint(&emit, "unfreed_count", totals->live_count);
	emit_uint(&emit, "unfreed_total", totals->live_bytes);
	emit_uint(&emit, "mapped_count", maps->map_count);
	emit_uint(&emit, "mapped_total", maps->map_bytes);
	emit_uint(&emit, "unmapped_count", maps->unmap_count);
	emit_uint(&emit, "unmapped_total", maps->unmap_bytes);
	end_event(&emit);
}

static void json_block(FILE *out, struct trace_scene *scene, const struct trace_block *block,
		       const char *place)
{
	struct emit emit = { .out = out };

	begin_event(&emit, "unfreed");
	emit_real(&emit, "time", ticks_seconds(scene->ticks, block->time));
	put_address(&emit, "address", block->address);
	emit_uint(&emit, "size", block->size);
	put_place(&emit, place);
	end_event(&emit);
}

const struct trace_format trace_format_json = {
	.place = json_place, .no_place = "\"frames\":[]", .begin = json_begin,
	.line = json_line, .end = json_end, .block = json_block,
};
