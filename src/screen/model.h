/* SPDX-License-Identifier: MIT */
/*
 * model.h - what the live screen knows and shows: sites, their names, order, filter, selection,
 * a marked moment. Pure: no terminal, no clock, no socket.
 */
#ifndef MEMATTACH_SCREEN_MODEL_H
#define MEMATTACH_SCREEN_MODEL_H

#include <stdbool.h>

#include "src/base/hashmap.h"
#include "src/screen/model_leaks.h"
#include "src/screen/wire.h"

#define MODEL_FILTER_BYTES 128u

enum model_view { MODEL_SITES = 0, MODEL_THREADS, MODEL_LEAKS, MODEL_HELP };
enum model_column {
	COLUMN_LIVE = 0, COLUMN_GROWTH, COLUMN_ALLOCATED, COLUMN_TEMPORARY, COLUMN_AGE,
	COLUMN_NAME, COLUMN_COUNT
};

/* Of a site or a frame; texts are printable, never NULL. */
struct model_name {
	char *function, *place;
};
/* A site at the marked moment. */
struct model_mark {
	uint64_t live_bytes, live_count, alloc_bytes, alloc_count, temporary_count;
};
/* What a row shows: figures now, or since the mark. */
struct model_figures {
	double live, growth, allocated, temporary, age;	/* bytes, bytes a second, blocks, s */
	double blocks, allocations;
};
struct model_list {
	uint32_t selected, top;		/* index of the selected row, and of the first on screen */
	uint32_t selected_id;		/* site or thread; 0: none */
	bool moved;			/* the user has chosen; until then it is the first */
};

struct model {
	/* the target */
	int32_t pid;
	char *cmdline, *exe, *version;
	/* now */
	bool has_state;
	struct screen_state state;
	struct screen_point *point;
	struct screen_site *site;
	struct screen_thread *thread;
	/* names, by site */
	struct hashmap name_index;	/* site -> index in name */
	struct model_name *name;
	size_t name_count, name_capacity;
	/* the stack that came last */
	uint32_t stack_site, stack_count, stack_left_out;
	struct model_name *stack;
	struct model_leaks leaks;
	/* what is to be seen */
	enum model_view view;
	enum model_column column;
	enum model_view before_help;	/* what is seen again when the help is left */
	bool reversed, show_stack, paused, differences, typing;
	char filter[MODEL_FILTER_BYTES];
	bool stale;			/* a name came: see model_settle */
	uint32_t *row;			/* indices in site, those that pass, in order */
	uint32_t row_count;
	struct model_list sites, threads, groups;
	uint32_t page;			/* rows of the list that fit on the terminal; by the view */
	uint32_t stack_top;		/* first frame shown */
	uint32_t help_top, help_page;	/* first line of the help shown, and how many fit */
	/* the marked moment */
	bool marked;
	double mark_time;
	uint64_t mark_live, mark_alloc_bytes, mark_alloc_count;
	struct hashmap mark_index;
	struct model_mark *mark;
	char note[256];			/* for the last line; "" none */
	char file[128];			/* where a snapshot is being written */
	bool saving;			/* asked for, and not answered yet */
	bool unsaved;			/* it failed: what there is of the file is to go */
};

/* 0 or -ENOMEM. */
int model_new(struct model **ret) _must_check_;
void model_free(struct model *model);
/*
 * Takes a message from the analyst. Figures may be anything, texts any bytes. 0, -EBADMSG (what
 * was whole of it may count), -ENOMEM.
 */
int model_take(struct model *model, uint32_t type, const char *bytes, size_t count) _must_check_;
/* No file was written, or not all of it: -errno. Says so. */
void model_save_failed(struct model *model, int error);
/*
 * Finds the rows anew: after the order or the filter has changed. A site that the user has selected
 * stays so.
 */
void model_arrange(struct model *model);
/* The same where names came that the order or the filter looks at: once for many of them. */
void model_settle(struct model *model);
/* Selects the row that is by rows further down (up if negative), or the last possible one. */
void model_move(struct model *model, long by);
/* Has the selected row be on the screen, given model->page. */
void model_scroll(struct model *model);
/* Remembers the figures of now. 0 or -ENOMEM (the earlier mark is kept). */
int model_mark(struct model *model) _must_check_;
/* The name of a site; both texts "" as long as it is not known. */
const struct model_name *model_name(const struct model *model, uint32_t site);
struct model_figures model_figures(const struct model *model, const struct screen_site *site);
/* The group of leaks that is selected; NULL: there is none. */
const struct model_group *model_group(const struct model *model);
/* What the list that is shown consists of. */
struct model_list *model_shown(struct model *model);
uint32_t model_shown_count(const struct model *model);
/* What to ask the analyst for: the rows on the screen, and the stack of the selected one. */
void model_wants(const struct model *model, struct screen_want *ret);

#endif
