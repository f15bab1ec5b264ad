/* SPDX-License-Identifier: MIT */
/* source_lines.c - see source_lines.h. */
#include "src/view/source_lines.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct place {
	const char *file;
	uint64_t line;
};
struct place_entry {
	struct place place;
	size_t number;		/* in source_lines.line while it is unsorted */
	UT_hash_handle hh;
};

struct collecting {
	struct source_lines *lines;
	struct place_entry *places;	/* a uthash */
	size_t *line_of;		/* frame's index -> number + 1; 0: no line is known */
	size_t *last_site;		/* number -> the last site that passed, + 1 */
};

static int number_place(struct collecting *c, const struct view_frame *frame, size_t *ret)
{
	struct place place = { frame->file, frame->line };
	struct place_entry *entry;

	HASH_FIND(hh, c->places, &place, sizeof(place), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->place = place;
		entry->number = c->lines->line_count;
		HASH_ADD(hh, c->places, place, sizeof(place), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return -ENOMEM;
		}
		c->lines->line[c->lines->line_count++] = (struct source_line){
			.file = frame->file, .line = frame->line };
	}
	*ret = entry->number;
	return 0;
}

static int number_frames(struct collecting *c, const struct view_sites *sites)
{
	size_t number;

	for (uint32_t i = 0; i < sites->frame_count; i++) {
		if (!sites->frame[i]->file || !sites->frame[i]->line)
			continue;
		if (number_place(c, sites->frame[i], &number) < 0)
			return -ENOMEM;
		c->line_of[i] = number + 1;
	}
	return 0;
}

static void add_figures(uint64_t *to, const struct snapshot_site *site)
{
	for (int m = 0; m < VIEW_METRIC_COUNT; m++)
		to[m] = view_sum(to[m], view_metric_value(site, (enum view_metric)m));
}

static void add_site(struct collecting *c, const struct view_site *site, size_t number)
{
	bool ended = false;

	for (uint32_t i = 0; i < site->frame_count; i++) {
		size_t at = c->line_of[site->frame[i]->index];

		if (at == 0)
			continue;
		if (!ended && i >= site->caller)
			add_figures(c->lines->line[at - 1].self, site->figures);
		ended |= i >= site->caller;
		if (c->last_site[at - 1] == number + 1)
			continue;
		c->last_site[at - 1] = number + 1;
		add_figures(c->lines->line[at - 1].total, site->figures);
	}
	if (!ended)
		add_figures(c->lines->nowhere, site->figures);
}

/* Lines of frames that no site has: the allocator's own. */
static void drop_unused(struct collecting *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->lines->line_count; i++)
		if (c->last_site[i])
			c->lines->line[kept++] = c->lines->line[i];
	c->lines->line_count = kept;
}

/* Texts of one store: equal ones have one address. */
static int by_place(const void *left, const void *right)
{
	const struct source_line *a = left, *b = right;
	int order = a->file == b->file ? 0 : strcmp(a->file, b->file);

	if (order)
		return order;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int by_self(const void *left, const void *right, void *context)
{
	const struct source_file_lines *a = left, *b = right;
	enum view_metric sort = *(const enum view_metric *)context;

	if (a->self[sort] != b->self[sort])
		return a->self[sort] < b->self[sort] ? 1 : -1;
	return strcmp(a->file, b->file);
}

static int make_files(struct source_lines *lines, enum view_metric sort)
{
	lines->file = calloc(lines->line_count + 1, sizeof(*lines->file));
	if (!lines->file)
		return -ENOMEM;
	qsort(lines->line, lines->line_count, sizeof(*lines->line), by_place);
	for (size_t i = 0; i < lines->line_count; i++) {
		struct source_file_lines *file = &lines->file[lines->file_count];

		if (i == 0 || lines->line[i].file != file[-1].file) {
			*file = (struct source_file_lines){ .file = lines->line[i].file,
							    .first = i };
			lines->file_count++;
		} else {
			file--;
		}
		file->count++;
		for (int m = 0; m < VIEW_METRIC_COUNT; m++)
			file->self[m] = view_sum(file->self[m], lines->line[i].self[m]);
	}
	qsort_r(lines->file, lines->file_count, sizeof(*lines->file), by_self, &sort);
	return 0;
}

static int collect(struct collecting *c, const struct view_sites *sites, enum view_metric sort)
{
	c->lines->line = calloc((size_t)sites->frame_count + 1, sizeof(*c->lines->line));
	c->line_of = calloc((size_t)sites->frame_count + 1, sizeof(*c->line_of));
	c->last_site = calloc((size_t)sites->frame_count + 1, sizeof(*c->last_site));
	if (!c->lines->line || !c->line_of || !c->last_site || number_frames(c, sites) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sites->count; i++)
		add_site(c, &sites->site[i], i);
	drop_unused(c);
	return make_files(c->lines, sort);
}

int source_lines_new(const struct view_sites *sites, enum view_metric sort,
		     struct source_lines **ret)
{
	struct collecting c = { .lines = calloc(1, sizeof(*c.lines)) };
	struct place_entry *entry, *next;
	int err = c.lines ? collect(&c, sites, sort) : -ENOMEM;

	HASH_ITER(hh, c.places, entry, next) {
		HASH_DEL(c.places, entry);
		free(entry);
	}
	free(c.line_of);
	free(c.last_site);
	if (err < 0)
		source_lines_free(c.lines);
	else
		*ret = c.lines;
	return err;
}

void source_lines_free(struct source_lines *lines)
{
	if (!lines)
		return;
	free(lines->line);
	free(lines->file);
	free(lines);
}
