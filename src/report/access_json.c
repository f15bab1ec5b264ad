/* SPDX-License-Identifier: MIT */
/*
 * access_json.c - see access_json.h. hits are those that were counted: at_least says that there
 * were more of them.
 */
#include "src/report/access_json.h"

#include "src/report/frame_json.h"

static const char *kind_name(enum leak_access_kind kind)
{
	static const char *const name[] = {
		[LEAK_ACCESS_EITHER] = "either",
		[LEAK_ACCESS_READ] = "read",
		[LEAK_ACCESS_WRITE] = "write",
	};

	return (size_t)kind < ARRAY_SIZE(name) ? name[kind] : "either";
}

void access_json_put_run(struct emit *emit, const struct leak_access_run *run)
{
	if (!run->wanted) {
		emit_null(emit, "access");
		return;
	}
	emit_begin(emit, "access", '{');
	emit_text(emit, "problem", run->problem[0] ? run->problem : NULL);
	emit_real(emit, "seconds", run->seconds);
	emit_uint(emit, "blocks", run->blocks);
	emit_uint(emit, "hits", run->hits);
	emit_uint(emit, "threads", run->threads);
	emit_uint(emit, "threads_there", run->threads_there);
	emit_bool(emit, "kernel_unseen", run->kernel_unseen);
	emit_bool(emit, "slots_taken", run->slots_taken);
	emit_bool(emit, "ended", run->ended);
	emit_end(emit, '}');
}

static void put_place(struct emit *emit, const struct report_names *names,
		      const struct leak_place *place)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "kind", kind_name(place->kind));
	emit_uint(emit, "hits", place->hits);
	emit_bool(emit, "frees", place->frees);
	emit_begin(emit, "frames", '[');
	frame_json_put(emit, names, place->frame, place->frame_count);
	emit_end(emit, ']');
	emit_end(emit, '}');
}

void access_json_put(struct emit *emit, const struct report_names *names,
		     const struct leak_group *group)
{
	const struct leak_access *access = group->access;

	if (!access) {
		emit_null(emit, "access");
		return;
	}
	emit_begin(emit, "access", '{');
	emit_real(emit, "seconds", access->seconds);
	emit_real(emit, "armed_seconds", access->armed_seconds);
	emit_uint(emit, "watched", access->watched);
	emit_uint(emit, "not_watched", leak_group_unwatched(group));
	emit_uint(emit, "accessed", access->accessed);
	emit_uint(emit, "freed", access->freed);
	emit_uint(emit, "changed", access->changed);
	emit_uint(emit, "hits", access->hits);
	emit_bool(emit, "at_least", access->at_least);
	emit_bool(emit, "disproved", access->disproved);
	emit_bool(emit, "doubtful", access->doubtful);
	emit_begin(emit, "places", '[');
	for (uint32_t i = 0; i < access->place_count && i < LEAK_MAX_PLACES; i++)
		put_place(emit, names, &access->place[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}
