/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - a profile for pprof and what scrapes its format: figures as Go's heap profile has them
 * (allocated and in use, objects and bytes), locations with inlined functions, mappings with
 * build ids.
 *
 * Figures are scaled already; period only tells the sampling interval. A mapping in which
 * functions have names is marked as symbolized in all respects: we have looked at what debug
 * information there was. The others are left for pprof to look at.
 */
#include <errno.h>
/* Written by protoc-c at build time. */
#include <src/export/profile.pb-c.h>

#include "src/export/export.h"
#include "src/export/export_functions.h"
#include "src/export/export_places.h"
#include "src/export/export_text.h"
#include "src/export/compress.h"
#include "src/export/pprof_tables.h"
#include "src/base/version.h"

typedef Memattach__Pprof__Profile Profile;

struct pprof {
	const struct export_input *input;
	struct pprof_tables tables;
	struct export_functions functions;
	struct export_places places;
	uint64_t *location;		/* by view_frame.index: id, 0 not written yet */
	uint64_t location_count;
	struct hashmap leak_by_site;	/* id -> enum leak_verdict */
	const char *comment[3];
	char mode[64], lost[96];
};

static void pprof_done(struct pprof *p)
{
	pprof_tables_done(&p->tables);
	export_functions_done(&p->functions);
	export_places_done(&p->places);
	hashmap_done(&p->leak_by_site);
	free(p->location);
}

static Memattach__Pprof__ValueType value_type(struct pprof *p, const char *type, const char *unit,
					      int *error)
{
	Memattach__Pprof__ValueType value = MEMATTACH__PPROF__VALUE_TYPE__INIT;

	value.type = pprof_string(&p->tables, type, error);
	value.unit = pprof_string(&p->tables, unit, error);
	return value;
}

/* `pprof -comments` shows them: what makes the figures believable. */
static void make_comments(struct pprof *p)
{
	const struct snapshot *snapshot = p->input->content->snapshot;

	snprintf(p->mode, sizeof(p->mode), "mode: %s",
		 snapshot_mode_name(snapshot->session.mode));
	snprintf(p->lost, sizeof(p->lost), "lost events: %llu allocations, %llu frees",
		 (unsigned long long)snapshot->session.lost.alloc,
		 (unsigned long long)snapshot->session.lost.free);
	p->comment[0] = "memattach " VERSION_TEXT;
	p->comment[1] = p->mode;
	p->comment[2] = p->lost;
}

/* What pprof shows if it is not told what to. */
static const char *default_type(enum view_metric metric)
{
	switch (metric) {
	case VIEW_LIVE_COUNT:
		return "inuse_objects";
	case VIEW_ALLOC_BYTES:
		return "alloc_space";
	case VIEW_ALLOC_COUNT:
		return "alloc_objects";
	default:
		return "inuse_space";
	}
}

/* The four kinds of figures, in the order in which values of samples come. */
static int put_types(struct pprof *p)
{
	static const char *const type[] = { "alloc_objects", "alloc_space", "inuse_objects",
					    "inuse_space" };
	static const char *const unit[] = { "count", "bytes", "count", "bytes" };
	Memattach__Pprof__ValueType value[ARRAY_SIZE(type)];
	Memattach__Pprof__ValueType *pointer[ARRAY_SIZE(type)];
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(type); i++) {
		value[i] = value_type(p, type[i], unit[i], &err);
		pointer[i] = &value[i];
	}
	part.n_sample_type = ARRAY_SIZE(type);
	part.sample_type = pointer;
	part.default_sample_type = pprof_string(&p->tables, default_type(p->input->metric), &err);
	return err < 0 ? err : pprof_put(&p->tables, &part.base);
}

static int put_session(struct pprof *p)
{
	const struct snapshot_session *session = &p->input->content->snapshot->session;
	Memattach__Pprof__ValueType period_type;
	int64_t comment[ARRAY_SIZE(p->comment)];
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;
	int err = 0;

	make_comments(p);
	for (size_t i = 0; i < ARRAY_SIZE(comment); i++)
		comment[i] = pprof_string(&p->tables, p->comment[i], &err);
	period_type = value_type(p, "space", "bytes", &err);
	part.period_type = &period_type;
	/* Every event is a sample: one byte, as pprof has no word for it. */
	part.period = export_int64(session->sample_interval_bytes);
	part.period = part.period ? part.period : 1;
	part.time_nanos = (int64_t)export_ticks(session->begin_time + session->duration, 1e9);
	part.duration_nanos = (int64_t)export_ticks(session->duration, 1e9);
	part.n_comment = ARRAY_SIZE(comment);
	part.comment = comment;
	return err < 0 ? err : pprof_put(&p->tables, &part.base);
}

static int put_mapping(struct pprof *p, size_t index)
{
	const struct export_place *place = &p->places.place[index];
	Memattach__Pprof__Mapping mapping = MEMATTACH__PPROF__MAPPING__INIT, *pointer = &mapping;
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;
	int err = 0;

	mapping.id = index + 1;
	mapping.memory_start = place->start;
	mapping.memory_limit = place->limit;
	mapping.file_offset = place->file_offset;
	mapping.filename = pprof_string(&p->tables, place->path, &err);
	mapping.build_id = pprof_string(&p->tables, place->build_id, &err);
	mapping.has_functions = mapping.has_filenames = place->named;
	mapping.has_line_numbers = mapping.has_inline_frames = place->named;
	part.n_mapping = 1;
	part.mapping = &pointer;
	return err < 0 ? err : pprof_put(&p->tables, &part.base);
}

static int put_function(struct pprof *p, uint32_t index)
{
	const struct view_frame *frame = p->functions.function[index];
	Memattach__Pprof__Function function = MEMATTACH__PPROF__FUNCTION__INIT;
	Memattach__Pprof__Function *pointer = &function;
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;
	int err = 0;

	function.id = index + 1u;
	function.name = pprof_string(&p->tables, frame->title, &err);
	function.system_name = frame->function ?
		pprof_string(&p->tables, frame->function, &err) : function.name;
	if (frame->file)
		function.filename = pprof_string(&p->tables, frame->file, &err);
	part.n_function = 1;
	part.function = &pointer;
	return err < 0 ? err : pprof_put(&p->tables, &part.base);
}

/* frame[0 .. count) is one machine frame, innermost first, as pprof wants its lines. */
static int put_location(struct pprof *p, const struct view_frame *const *frame, uint32_t count)
{
	Memattach__Pprof__Line line[SYMBOLIZER_MAX_FRAMES], *pointer[SYMBOLIZER_MAX_FRAMES];
	Memattach__Pprof__Location location = MEMATTACH__PPROF__LOCATION__INIT;
	Memattach__Pprof__Location *location_pointer = &location;
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;

	for (uint32_t i = 0; i < count; i++) {
		memattach__pprof__line__init(&line[i]);
		line[i].function_id = p->functions.of_frame[frame[i]->index] + 1u;
		line[i].line = frame[i]->line;
		pointer[i] = &line[i];
	}
	location.id = p->location[frame[0]->index] = ++p->location_count;
	location.mapping_id = p->places.of_frame[frame[0]->index];
	location.address = export_places_address(&p->places, frame[0]);
	location.n_line = count;
	location.line = pointer;
	part.n_location = 1;
	part.location = &location_pointer;
	return pprof_put(&p->tables, &part.base);
}

/* What the search for leaks says of a site: its worst, if that is a complaint. */
static int index_leaks(struct pprof *p)
{
	const struct leak_report *leaks = p->input->content->leaks;
	int err = 0;

	for (size_t i = 0; leaks && err == 0 && i < leaks->group_count; i++) {
		const struct leak_group *group = &leaks->group[i];
		uint64_t verdict = LEAK_REACHABLE;

		(void)hashmap_get(&p->leak_by_site, group->site, &verdict);
		if (group->site && group->verdict < verdict)
			err = hashmap_put(&p->leak_by_site, group->site, group->verdict);
	}
	return err;
}

#define LABELS 4u

static void add_label(struct pprof *p, Memattach__Pprof__Sample *sample, const char *key,
		      const char *text, int *error)
{
	Memattach__Pprof__Label *label = sample->label[sample->n_label++];

	memattach__pprof__label__init(label);
	label->key = pprof_string(&p->tables, key, error);
	if (text)
		label->str = pprof_string(&p->tables, text, error);
}

static int add_labels(struct pprof *p, Memattach__Pprof__Sample *sample,
		      const struct snapshot_site *s)
{
	const char *verdict = snapshot_verdict_name(s->verdict);
	uint64_t leak;
	int err = 0;

	if (s->alloc_count) {
		add_label(p, sample, "bytes", NULL, &err);	/* the mean size of a block */
		sample->label[0]->num = export_int64(s->alloc_bytes / s->alloc_count);
		sample->label[0]->num_unit = pprof_string(&p->tables, "bytes", &err);
	}
	add_label(p, sample, "kind", s->kind == SITE_MMAP ? "mmap" : "malloc", &err);
	if (verdict)
		add_label(p, sample, "verdict", verdict, &err);
	if (hashmap_get(&p->leak_by_site, s->id, &leak))
		add_label(p, sample, "leak", leak_verdict_name((enum leak_verdict)leak), &err);
	return err;
}

/* The ids of a stack's locations, those that are new are written. */
static int put_stack(struct pprof *p, const struct view_site *site, uint64_t *id, size_t *ret_count)
{
	int err = 0;

	*ret_count = 0;
	for (uint32_t i = 0, part; err == 0 && i < site->frame_count; i += part) {
		part = export_machine_frame(&site->frame[i], site->frame_count - i);
		if (!p->location[site->frame[i]->index])
			err = put_location(p, &site->frame[i], part);
		id[(*ret_count)++] = p->location[site->frame[i]->index];
	}
	return err;
}

static int put_sample(struct pprof *p, const struct view_site *site)
{
	const struct snapshot_site *s = site->figures;
	int64_t value[] = { export_int64(s->alloc_count), export_int64(s->alloc_bytes),
			    export_int64(s->live_count), export_int64(s->live_bytes) };
	Memattach__Pprof__Sample sample = MEMATTACH__PPROF__SAMPLE__INIT, *pointer = &sample;
	Memattach__Pprof__Label label[LABELS], *labels[LABELS];
	_cleanup_free_ uint64_t *id = calloc(site->frame_count, sizeof(*id));
	Profile part = MEMATTACH__PPROF__PROFILE__INIT;
	int err = id ? put_stack(p, site, id, &sample.n_location_id) : -ENOMEM;

	for (size_t i = 0; i < LABELS; i++)
		labels[i] = &label[i];
	sample.location_id = id;
	sample.n_value = ARRAY_SIZE(value);
	sample.value = value;
	sample.label = labels;
	if (err == 0)
		err = add_labels(p, &sample, s);
	part.n_sample = 1;
	part.sample = &pointer;
	return err < 0 ? err : pprof_put(&p->tables, &part.base);
}

static int prepare(struct pprof *p, FILE *out)
{
	int err = pprof_tables_init(&p->tables, out);

	p->location = calloc((size_t)p->input->sites->frame_count + 1, sizeof(*p->location));
	if (err == 0)
		err = p->location ? export_functions_init(&p->functions, p->input->sites) : -ENOMEM;
	if (err == 0)
		err = export_places_init(&p->places, p->input);
	if (err == 0)
		err = index_leaks(p);
	return err;
}

static int put_all(struct pprof *p)
{
	const struct view_sites *sites = p->input->sites;
	int err = put_types(p);

	if (err == 0)
		err = put_session(p);
	for (size_t i = 0; err == 0 && i < p->places.count; i++)
		err = put_mapping(p, i);
	for (uint32_t i = 0; err == 0 && i < p->functions.count; i++)
		err = put_function(p, i);
	for (size_t i = 0; err == 0 && i < sites->count; i++)
		err = put_sample(p, &sites->site[i]);
	return err < 0 ? err : pprof_put_strings(&p->tables);
}

int export_pprof(FILE *out, const struct export_input *input)
{
	_cleanup_(pprof_done) struct pprof p = { .input = input };
	FILE *compressed;
	int err = compress_open(out, COMPRESS_GZIP, &compressed);

	if (err < 0)
		return err;
	err = prepare(&p, compressed);
	if (err == 0)
		err = put_all(&p);
	if (fclose(compressed) != 0 && err == 0)
		err = -EIO;
	return err;
}
