/* SPDX-License-Identifier: MIT */
/*
 * massif.c - Massif's snapshots: live bytes over time, with call trees where the recording has the
 * sites of a moment. The moment with the most bytes is its peak.
 *
 * Not all moments of a long recording: as many as Massif would keep, evenly spread by number, and
 * the peak.
 */
#include <errno.h>
#include <string.h>

#include "src/base/version.h"
#include "src/export/export.h"
#include "src/export/export_text.h"
#include "src/export/massif_tree.h"

#define MOST 100u	/* Massif's --max-snapshots */

struct massif {
	FILE *out;
	const struct export_input *input;
	struct export_levels levels;
	struct export_places places;
	struct massif_tree *tree;
	size_t peak;		/* index of the moment */
	bool cover_heap;
};

static void massif_done(struct massif *m)
{
	massif_tree_free(m->tree);
	export_levels_done(&m->levels);
	export_places_done(&m->places);
}

/* The first of the largest. */
static int find_peak(struct massif *m)
{
	uint64_t most = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < m->levels.moments.count; i++) {
		err = export_levels_step(&m->levels, NULL, NULL);
		if (export_levels_sum(&m->levels) > most) {
			most = export_levels_sum(&m->levels);
			m->peak = i;
		}
	}
	export_levels_rewind(&m->levels);
	return err;
}

/* Of count moments, is this one of the MOST that are shown? The first and the last are. */
static bool is_shown(size_t moment, size_t count)
{
	size_t slot;

	if (count <= MOST)
		return true;
	slot = (moment * (MOST - 1) + count - 2) / (count - 1);
	return slot * (count - 1) / (MOST - 1) == moment;
}

static int put_header(struct massif *m)
{
	const struct snapshot *snapshot = m->input->content->snapshot;
	int err;

	fprintf(m->out, "desc: memattach %s, mode %s\ncmd: ", VERSION_TEXT,
		snapshot_mode_name(snapshot->session.mode));
	err = export_put_line(m->out, snapshot->target.cmdline);
	fputs("\ntime_unit: ms\n", m->out);
	return err;
}

static int put_moment(struct massif *m, size_t index, unsigned int number)
{
	const struct recording_levels_at *moment = &m->levels.moments.moment[index];
	bool last = index + 1 == m->levels.moments.count;
	bool tree = moment->change_count || index == m->peak || last;

	fprintf(m->out, "#-----------\nsnapshot=%u\n#-----------\ntime=%llu\nmem_heap_B=%llu\n"
		"mem_heap_extra_B=%llu\nmem_stacks_B=0\nheap_tree=%s\n", number,
		(unsigned long long)export_ticks(moment->time, 1e3),
		(unsigned long long)export_levels_sum(&m->levels),
		(unsigned long long)(m->cover_heap ? moment->overhead_bytes : 0),
		index == m->peak ? "peak" : tree ? "detailed" : "empty");
	return tree ? massif_tree_put(m->out, m->tree, &m->levels) : 0;
}

static int put_moments(struct massif *m)
{
	size_t count = m->levels.moments.count;
	unsigned int number = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		err = export_levels_step(&m->levels, NULL, NULL);
		if (err == 0 && (is_shown(i, count) || i == m->peak))
			err = put_moment(m, i, number++);
	}
	return err;
}

int export_massif(FILE *out, const struct export_input *input)
{
	_cleanup_(massif_done) struct massif m = { .out = out, .input = input };
	int err = export_levels_init(&m.levels, input);

	if (err == 0)
		err = export_places_init(&m.places, input);
	if (err == 0)
		err = massif_tree_new(input->sites, &m.places, &m.tree);
	if (err == 0)
		err = find_peak(&m);
	if (err == 0)
		err = put_header(&m);
	m.cover_heap = export_levels_cover_heap(&m.levels);
	return err < 0 ? err : put_moments(&m);
}
