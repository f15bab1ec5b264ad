/* SPDX-License-Identifier: MIT */
/*
 * model.c - the analyst's messages become tables.
 *
 * A message is checked whole before anything of it counts: sizes must add up, figures that are
 * no numbers become 0, texts are made printable here, once, so that nothing behind this file can
 * draw what moves the cursor. While the screen is paused, figures are dropped; names are kept.
 */
#include "src/screen/model.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/report/human.h"
#include "src/report/printable.h"

int model_new(struct model **ret)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	model->show_stack = true;
	model->page = 1;
	*ret = model;
	return 0;
}

static void name_done(struct model_name *name)
{
	free(name->function);
	free(name->place);
	*name = (struct model_name){ .function = NULL };
}

static void stack_done(struct model *model)
{
	for (uint32_t i = 0; i < model->stack_count; i++)
		name_done(&model->stack[i]);
	free(model->stack);
	model->stack = NULL;
	model->stack_count = 0;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->name_count; i++)
		name_done(&model->name[i]);
	stack_done(model);
	model_leaks_done(&model->leaks);
	hashmap_done(&model->name_index);
	hashmap_done(&model->mark_index);
	free(model->name);
	free(model->mark);
	free(model->row);
	free(model->point);
	free(model->site);
	free(model->thread);
	free(model->cmdline);
	free(model->exe);
	free(model->version);
	free(model);
}

/* ---- texts ---- */

/* The next text of a message, fit for a terminal. 0, -EBADMSG, -ENOMEM. */
static int get_text(struct apart_reader *reader, char **ret)
{
	const char *text;

	if (apart_get_text(reader, &text))
		return -EBADMSG;
	*ret = printable_copy(text ? text : "", PRINTABLE_TERMINAL);
	return *ret ? 0 : -ENOMEM;
}

static int get_name(struct apart_reader *reader, struct model_name *ret)
{
	int error;

	*ret = (struct model_name){ .function = NULL };
	error = get_text(reader, &ret->function);
	if (!error)
		error = get_text(reader, &ret->place);
	if (error)
		name_done(ret);
	return error;
}

static void replace(char **text, char *with)
{
	free(*text);
	*text = with;
}

static int take_target(struct model *model, struct apart_reader *reader)
{
	char *text[3] = { NULL };
	int32_t pid;
	int error = apart_get(reader, &pid, sizeof(pid));

	for (size_t i = 0; !error && i < ARRAY_SIZE(text); i++)
		error = get_text(reader, &text[i]);
	if (error) {
		for (size_t i = 0; i < ARRAY_SIZE(text); i++)
			free(text[i]);
		return error;
	}
	model->pid = pid;
	replace(&model->cmdline, text[0]);
	replace(&model->exe, text[1]);
	replace(&model->version, text[2]);
	return 0;
}

static int add_name(struct model *model, uint32_t site, struct model_name *name)
{
	size_t capacity = model->name_capacity ? model->name_capacity * 2 : 256;
	uint64_t at;

	if (hashmap_get(&model->name_index, site, &at)) {
		name_done(&model->name[at]);
		model->name[at] = *name;
		return 0;
	}
	if (model->name_count >= SCREEN_MAX_SITES * 4u)
		return -EBADMSG;	/* the analyst knows better than to name them all */
	if (model->name_count == model->name_capacity) {
		struct model_name *grown = reallocarray(model->name, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		model->name = grown;
		model->name_capacity = capacity;
	}
	if (hashmap_put(&model->name_index, site, model->name_count) < 0)
		return -ENOMEM;
	model->name[model->name_count++] = *name;
	return 0;
}

static int take_names(struct model *model, struct apart_reader *reader)
{
	while (reader->left) {
		struct model_name name;
		uint32_t site;
		int error = apart_get(reader, &site, sizeof(site));

		if (!error)
			error = get_name(reader, &name);
		if (error)
			return error;
		error = add_name(model, site, &name);
		if (error) {
			name_done(&name);
			return error;
		}
	}
	model->stale = true;
	return 0;
}

static int take_stack(struct model *model, struct apart_reader *reader)
{
	struct { uint32_t site, count, left_out; } head;
	struct model_name *stack;
	int error = apart_get(reader, &head, sizeof(head));

	if (error || head.count > SCREEN_MAX_FRAMES)
		return -EBADMSG;
	stack = calloc((size_t)head.count + 1, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; !error && i < head.count; i++)
		error = get_name(reader, &stack[i]);
	if (error) {	/* those that were not read are empty */
		for (uint32_t i = 0; i < head.count; i++)
			name_done(&stack[i]);
		free(stack);
		return error;
	}
	stack_done(model);
	if (model->stack_site != head.site)
		model->stack_top = 0;
	model->stack = stack;
	model->stack_site = head.site;
	model->stack_count = head.count;
	model->stack_left_out = head.left_out;
	return 0;
}

static int take_note(struct model *model, struct apart_reader *reader)
{
	_cleanup_free_ char *text = NULL;
	int error = get_text(reader, &text);

	if (!error)
		(void)snprintf(model->note, sizeof(model->note), "%s", text);
	return error;
}

static int take_file(struct model *model, struct apart_reader *reader)
{
	_cleanup_free_ char *text = NULL;
	int error = get_text(reader, &text);

	if (error)
		return error;
	(void)snprintf(model->file, sizeof(model->file), "%s", text);
	(void)snprintf(model->note, sizeof(model->note), "saving to %s ...", model->file);
	return 0;
}

void model_save_failed(struct model *model, int error)
{
	model->saving = false;
	model->unsaved = true;
	(void)snprintf(model->note, sizeof(model->note), "can't write %s: %s", model->file,
		       strerror(error < 0 && error > -4096 ? -error : EIO));
}

static int take_saved(struct model *model, struct apart_reader *reader)
{
	struct screen_saved saved;

	if (apart_get(reader, &saved, sizeof(saved)))
		return -EBADMSG;
	model->saving = false;
	if (saved.error)
		model_save_failed(model, saved.error);
	else
		(void)snprintf(model->note, sizeof(model->note), "saved %u sites, %s, to %s",
			       saved.sites, human_bytes((double)saved.bytes).text, model->file);
	return 0;
}

/* ---- leaks ---- */

static void note_leaks(struct model *model)
{
	model->leaks.unseen = model->view != MODEL_LEAKS;
	if (model->leaks.unseen)
		(void)snprintf(model->note, sizeof(model->note), "leaks were searched for: L shows "
			       "%s", model->leaks.problem ? "why in vain" : "what was found");
}

static int take_leaks(struct model *model, struct apart_reader *reader)
{
	int error = model_leaks_found(&model->leaks, reader);

	if (error)
		return error;
	model->groups = (struct model_list){ .selected = 0 };
	note_leaks(model);
	return 0;
}

static int take_no_leaks(struct model *model, struct apart_reader *reader)
{
	int error = model_leaks_none(&model->leaks, reader);

	if (!error)
		note_leaks(model);
	return error;
}

/* ---- figures ---- */

static void mend(double *value, double low)
{
	if (!isfinite(*value) || *value < low)
		*value = low;
	if (*value > 1e18)
		*value = 1e18;
}

static void mend_state(struct screen_state *state)
{
	double *const from_0[] = {
		&state->time, &state->interval, &state->alloc_rate, &state->free_rate,
		&state->byte_rate, &state->blocked_seconds, &state->gap_seconds,
		&state->alloc_rate_low, &state->alloc_rate_high, &state->byte_rate_low,
		&state->byte_rate_high, &state->alloc_rate_average,
	};

	for (size_t i = 0; i < ARRAY_SIZE(from_0); i++)
		mend(from_0[i], 0);
	mend(&state->overhead_percent, -1);
	mend(&state->analyst_cpu, -1);
	if (state->mode > SCREEN_COUNTS)
		state->mode = SCREEN_ADAPTIVE;
}

static void mend_site(struct screen_site *site)
{
	mend(&site->growth, -1e18);
	mend(&site->first_time, 0);
	mend(&site->last_time, 0);
}

/* A copy of count things of size bytes. NULL: out of memory. */
static void *get_array(struct apart_reader *reader, size_t count, size_t size)
{
	void *array = calloc(count + 1, size);

	if (array && apart_get(reader, array, count * size)) {
		free(array);
		return NULL;
	}
	return array;
}

static int check_state(const struct screen_state *state, size_t left)
{
	if (state->point_count > SCREEN_MAX_POINTS || state->site_count > SCREEN_MAX_SITES ||
	    state->thread_count > SCREEN_MAX_THREADS)
		return -EBADMSG;
	return left == state->point_count * sizeof(struct screen_point) +
			       state->site_count * sizeof(struct screen_site) +
			       state->thread_count * sizeof(struct screen_thread) ? 0 : -EBADMSG;
}

static void put_state(struct model *model, struct screen_state *state,
		      struct screen_point *point, struct screen_site *site,
		      struct screen_thread *thread)
{
	free(model->point);
	free(model->site);
	free(model->thread);
	model->point = point;
	model->site = site;
	model->thread = thread;
	model->state = *state;
	model->has_state = true;
	mend_state(&model->state);
	for (uint32_t i = 0; i < state->site_count; i++)
		mend_site(&model->site[i]);
	for (uint32_t i = 0; i < state->thread_count; i++)
		mend(&model->thread[i].last_time, 0);
	model_arrange(model);
}

static int take_state(struct model *model, struct apart_reader *reader)
{
	struct screen_state state;
	struct screen_point *point;
	struct screen_site *site;
	struct screen_thread *thread;
	uint32_t *row;

	if (apart_get(reader, &state, sizeof(state)) || check_state(&state, reader->left))
		return -EBADMSG;
	if (model->paused)
		return 0;
	point = get_array(reader, state.point_count, sizeof(*point));
	site = get_array(reader, state.site_count, sizeof(*site));
	thread = get_array(reader, state.thread_count, sizeof(*thread));
	row = calloc((size_t)state.site_count + 1, sizeof(*row));
	if (!point || !site || !thread || !row) {
		free(point);
		free(site);
		free(thread);
		free(row);
		return -ENOMEM;
	}
	free(model->row);
	model->row = row;
	model->row_count = 0;
	put_state(model, &state, point, site, thread);
	return 0;
}

int model_take(struct model *model, uint32_t type, const char *bytes, size_t count)
{
	static int (*const take[])(struct model *model, struct apart_reader *reader) = {
		[SCREEN_TARGET] = take_target, [SCREEN_STATE] = take_state,
		[SCREEN_NAMES] = take_names, [SCREEN_STACK] = take_stack,
		[SCREEN_NOTE] = take_note, [SCREEN_SAVED] = take_saved,
		[SCREEN_FILE] = take_file, [SCREEN_LEAKS_FOUND] = take_leaks,
		[SCREEN_LEAKS_NONE] = take_no_leaks,
	};
	struct apart_reader reader = { bytes, count };

	if (type >= ARRAY_SIZE(take) || !take[type])
		return -EBADMSG;
	return take[type](model, &reader);
}

/* ---- the marked moment ---- */

int model_mark(struct model *model)
{
	struct hashmap index = { .count = 0 };
	struct model_mark *mark = calloc((size_t)model->state.site_count + 1, sizeof(*mark));

	for (uint32_t i = 0; mark && i < model->state.site_count; i++) {
		const struct screen_site *site = &model->site[i];

		mark[i] = (struct model_mark){
			site->live_bytes, site->live_count, site->alloc_bytes, site->alloc_count,
			site->temporary_count,
		};
		if (hashmap_put(&index, site->id, i) < 0) {
			free(mark);
			mark = NULL;
		}
	}
	if (!mark) {
		hashmap_done(&index);
		return -ENOMEM;
	}
	hashmap_done(&model->mark_index);
	free(model->mark);
	model->mark_index = index;
	model->mark = mark;
	model->marked = true;
	model->mark_time = model->state.time;
	model->mark_live = model->state.live_bytes;
	model->mark_alloc_bytes = model->state.alloc_bytes;
	model->mark_alloc_count = model->state.alloc_count;
	model_arrange(model);
	return 0;
}

/* ---- questions ---- */

const struct model_name *model_name(const struct model *model, uint32_t site)
{
	static char none[] = "";
	static const struct model_name unknown = { none, none };
	uint64_t at;

	return hashmap_get(&model->name_index, site, &at) ? &model->name[at] : &unknown;
}

static struct model_mark mark_of(const struct model *model, uint32_t site)
{
	struct model_mark none = { .live_bytes = 0 };
	uint64_t at;

	if (!model->differences || !hashmap_get(&model->mark_index, site, &at))
		return none;
	return model->mark[at];
}

struct model_figures model_figures(const struct model *model, const struct screen_site *site)
{
	struct model_mark mark = mark_of(model, site->id);
	double seconds = model->state.time - model->mark_time;
	struct model_figures figures = {
		.live = (double)site->live_bytes - (double)mark.live_bytes,
		.blocks = (double)site->live_count - (double)mark.live_count,
		.growth = site->growth,
		.allocated = (double)site->alloc_bytes - (double)mark.alloc_bytes,
		.allocations = (double)site->alloc_count - (double)mark.alloc_count,
		.temporary = (double)site->temporary_count - (double)mark.temporary_count,
		.age = fmax(model->state.time - site->first_time, 0),
	};

	if (model->differences)
		figures.growth = seconds > 0 ? figures.live / seconds : 0;
	return figures;
}

const struct model_group *model_group(const struct model *model)
{
	const struct model_leaks *leaks = &model->leaks;

	return model->groups.selected < leaks->head.group_count ?
		       &leaks->group[model->groups.selected] : NULL;
}

struct model_list *model_shown(struct model *model)
{
	return model->view == MODEL_THREADS ? &model->threads :
	       model->view == MODEL_LEAKS   ? &model->groups : &model->sites;
}

uint32_t model_shown_count(const struct model *model)
{
	return model->view == MODEL_THREADS ? model->state.thread_count :
	       model->view == MODEL_LEAKS   ? model->leaks.head.group_count : model->row_count;
}

static void want_name(const struct model *model, uint32_t id, struct screen_want *ret)
{
	uint64_t at;

	if (id && ret->count < SCREEN_MAX_WANTED && !hashmap_get(&model->name_index, id, &at))
		ret->site[ret->count++] = id;
}

static void want_groups(const struct model *model, struct screen_want *ret)
{
	const struct model_leaks *leaks = &model->leaks;
	const struct model_group *selected = model_group(model);

	ret->stack = selected ? selected->figures.site : 0;
	for (uint32_t i = model->groups.top;
	     i < leaks->head.group_count && i - model->groups.top < model->page; i++) {
		want_name(model, leaks->group[i].figures.site, ret);
		want_name(model, leaks->group[i].figures.likely_site, ret);
	}
}

void model_wants(const struct model *model, struct screen_want *ret)
{
	*ret = (struct screen_want){ .stack = model->sites.selected_id };
	if (model->view == MODEL_LEAKS) {
		want_groups(model, ret);
		return;
	}
	for (uint32_t i = model->sites.top;
	     i < model->row_count && i - model->sites.top < model->page; i++)
		want_name(model, model->site[model->row[i]].id, ret);
}
