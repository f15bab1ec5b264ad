/* SPDX-License-Identifier: MIT */
/*
 * keys.c - see keys.h. A key that is not in the table does nothing: a help that is made from the
 * table can't leave one out.
 */
#include "src/screen/keys.h"

#include <limits.h>
#include <string.h>

#define MAX_KEYS 3u

struct key_row {
	uint32_t key[MAX_KEYS];		/* 0: no more; none at all: for all views */
	struct key_help help;
	enum keys_wish (*press)(struct model *model, uint32_t key);
};

static void say(struct model *model, const char *text)
{
	(void)snprintf(model->note, sizeof(model->note), "%s", text);
}

/* ---- moving ---- */

static enum keys_wish move_by(struct model *model, long rows)
{
	model_move(model, rows);
	return KEYS_NOTHING;
}

static enum keys_wish move_one(struct model *model, uint32_t key)
{
	return move_by(model, key == SCREEN_KEY_UP || key == 'k' ? -1 : 1);
}

static enum keys_wish move_page(struct model *model, uint32_t key)
{
	return move_by(model, key == SCREEN_KEY_PAGE_UP ? -(long)model->page : (long)model->page);
}

static enum keys_wish move_far(struct model *model, uint32_t key)
{
	return move_by(model, key == SCREEN_KEY_HOME ? LONG_MIN / 2 : LONG_MAX / 2);
}

/* ---- order, filter ---- */

static enum keys_wish sort_by(struct model *model, uint32_t key)
{
	int step = key == '<' ? COLUMN_COUNT - 1 : 1;

	model->column = (enum model_column)(((int)model->column + step) % COLUMN_COUNT);
	model->reversed = false;
	model_arrange(model);
	return KEYS_NOTHING;
}

static enum keys_wish reverse(struct model *model, uint32_t key)
{
	(void)key;
	model->reversed = !model->reversed;
	model_arrange(model);
	return KEYS_NOTHING;
}

static enum keys_wish begin_filter(struct model *model, uint32_t key)
{
	(void)key;
	model->view = MODEL_SITES;
	model->typing = true;
	return KEYS_NOTHING;
}

static void set_filter(struct model *model, size_t length)
{
	model->filter[length] = '\0';
	model_arrange(model);
}

static enum keys_wish clear(struct model *model, uint32_t key)
{
	(void)key;
	if (model->view == MODEL_LEAKS)
		model->view = MODEL_SITES;
	else
		set_filter(model, 0);
	return KEYS_NOTHING;
}

/* key as UTF-8 behind the filter, if there is room. */
static void append(struct model *model, uint32_t key)
{
	size_t length = strlen(model->filter);
	char *to = model->filter + length;

	if (length + 5 > sizeof(model->filter))
		return;
	if (key < 0x80) {
		*to++ = (char)key;
	} else if (key < 0x800) {
		*to++ = (char)(0xc0 | key >> 6);
		*to++ = (char)(0x80 | (key & 0x3f));
	} else if (key < 0x10000) {
		*to++ = (char)(0xe0 | key >> 12);
		*to++ = (char)(0x80 | (key >> 6 & 0x3f));
		*to++ = (char)(0x80 | (key & 0x3f));
	} else {
		*to++ = (char)(0xf0 | key >> 18);
		*to++ = (char)(0x80 | (key >> 12 & 0x3f));
		*to++ = (char)(0x80 | (key >> 6 & 0x3f));
		*to++ = (char)(0x80 | (key & 0x3f));
	}
	set_filter(model, (size_t)(to - model->filter));
}

static void drop_last(struct model *model)
{
	size_t length = strlen(model->filter);

	while (length && ((unsigned char)model->filter[--length] & 0xc0u) == 0x80u)
		;
	set_filter(model, length);
}

/* Typing changes the filter at once; the arrows go on selecting. */
static void type(struct model *model, uint32_t key)
{
	if (key == SCREEN_KEY_ENTER || key == SCREEN_KEY_ESCAPE)
		model->typing = false;
	if (key == SCREEN_KEY_ESCAPE)
		set_filter(model, 0);
	else if (key == SCREEN_KEY_BACKSPACE)
		drop_last(model);
	else if (key == SCREEN_KEY_UP || key == SCREEN_KEY_DOWN)
		(void)move_one(model, key);
	else if (key >= 0x20 && key < SCREEN_KEY_UP && !(key >= 0x7f && key < 0xa0))
		append(model, key);
}

/* ---- what is to be seen ---- */

static enum keys_wish toggle_stack(struct model *model, uint32_t key)
{
	(void)key;
	model->show_stack = !model->show_stack;
	return KEYS_NOTHING;
}

static enum keys_wish scroll_stack(struct model *model, uint32_t key)
{
	if (key == '[')
		model->stack_top -= model->stack_top > 0;
	else if (model->stack_top + 1 < model->stack_count)
		model->stack_top++;
	return KEYS_NOTHING;
}

static enum keys_wish toggle_threads(struct model *model, uint32_t key)
{
	(void)key;
	model->view = model->view == MODEL_THREADS ? MODEL_SITES : MODEL_THREADS;
	model_scroll(model);
	return KEYS_NOTHING;
}

static enum keys_wish show_help(struct model *model, uint32_t key)
{
	(void)key;
	model->before_help = model->view;
	model->view = MODEL_HELP;
	model->help_top = 0;
	return KEYS_NOTHING;
}

/* Where the help is longer than the terminal, what moves in lists moves in it. */
static bool scroll_help(struct model *model, uint32_t key)
{
	long page = (long)model->help_page, last = (long)keys_help_count() - page;
	long top = (long)model->help_top;

	if (last <= 0)
		return false;
	switch (key) {
	case SCREEN_KEY_UP: case 'k': top--; break;
	case SCREEN_KEY_DOWN: case 'j': top++; break;
	case SCREEN_KEY_PAGE_UP: top -= page; break;
	case SCREEN_KEY_PAGE_DOWN: top += page; break;
	case SCREEN_KEY_HOME: top = 0; break;
	case SCREEN_KEY_END: top = last; break;
	default: return false;
	}
	model->help_top = top < 0 ? 0 : (uint32_t)(top < last ? top : last);
	return true;
}

static enum keys_wish toggle_pause(struct model *model, uint32_t key)
{
	(void)key;
	model->paused = !model->paused;
	return KEYS_NOTHING;
}

static enum keys_wish mark(struct model *model, uint32_t key)
{
	(void)key;
	if (!model->has_state)
		return KEYS_NOTHING;
	if (model_mark(model)) {
		say(model, "out of memory: not marked");
		return KEYS_NOTHING;
	}
	(void)snprintf(model->note, sizeof(model->note), "marked at %.0f s; d shows what changed "
		       "since", model->mark_time);
	return KEYS_NOTHING;
}

static enum keys_wish toggle_differences(struct model *model, uint32_t key)
{
	(void)key;
	if (!model->marked) {
		say(model, "nothing is marked yet: m marks a moment, d shows what changed since");
		return KEYS_NOTHING;
	}
	model->differences = !model->differences;
	model_arrange(model);
	return KEYS_NOTHING;
}

static enum keys_wish save(struct model *model, uint32_t key)
{
	(void)key;
	if (model->saving) {
		say(model, "a snapshot is being saved: one at a time");
		return KEYS_NOTHING;
	}
	model->saving = true;
	return KEYS_SAVE;
}

/* One at a time; what was not looked at yet is shown rather than searched for anew. */
static enum keys_wish search(struct model *model, uint32_t key)
{
	struct model_leaks *leaks = &model->leaks;
	bool shown = leaks->searching || leaks->unseen;

	(void)key;
	model->view = MODEL_LEAKS;
	model_scroll(model);
	leaks->unseen = false;
	if (shown)
		return KEYS_NOTHING;
	leaks->searching = true;
	leaks->since = model->state.time;
	return KEYS_LEAKS;
}

static enum keys_wish quit(struct model *model, uint32_t key)
{
	(void)key;
	if (model->view != MODEL_LEAKS)
		return KEYS_QUIT;
	model->view = MODEL_SITES;
	return KEYS_NOTHING;
}

static const struct key_row table[] = {
	{ { SCREEN_KEY_UP, 'k' }, { "Up, k", "select the site above" }, move_one },
	{ { SCREEN_KEY_DOWN, 'j' }, { "Down, j", "select the site below" }, move_one },
	{ { SCREEN_KEY_PAGE_UP, SCREEN_KEY_PAGE_DOWN }, { "PgUp, PgDn", "a page up, down" },
	  move_page },
	{ { SCREEN_KEY_HOME, SCREEN_KEY_END }, { "Home, End", "the first, the last" }, move_far },
	{ { '<', '>' }, { "<, >", "sort by the column to the left, right" }, sort_by },
	{ { 'r' }, { "r", "reverse the order" }, reverse },
	{ { '/' }, { "/", "filter: type a part of a function, file or module" }, begin_filter },
	{ { SCREEN_KEY_ESCAPE }, { "Esc", "no filter" }, clear },
	{ { SCREEN_KEY_ENTER }, { "Enter", "show, hide the stack of the selected site" },
	  toggle_stack },
	{ { '[', ']' }, { "[, ]", "scroll the stack up, down" }, scroll_stack },
	{ { 't' }, { "t", "threads; t again: sites" }, toggle_threads },
	{ { 'p', ' ' }, { "p, Space", "pause; again: go on (the target never waits)" },
	  toggle_pause },
	{ { 'm' }, { "m", "mark this moment" }, mark },
	{ { 'd' }, { "d", "what changed since the mark; again: what is" },
	  toggle_differences },
	{ { 's' }, { "s", "save a snapshot to a file here (JSON, for memattach diff)" }, save },
	{ { '?', 'h' }, { "?, h", "this help; any key leaves it" }, show_help },
	{ { 'L' }, { "L", "leak check, while all goes on; L: anew, q or Esc: back" }, search },
	{ { 0 }, { "Ctrl-L", "draw the screen anew" }, NULL },
	{ { 0 }, { "Ctrl-Z", "stop the screen, not the session; the shell's fg: back" }, NULL },
	{ { 'q' }, { "q, Ctrl-C", "detach, then print the report" }, quit },
};

static const struct key_row *find(uint32_t key)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (size_t k = 0; k < MAX_KEYS && table[i].key[k]; k++)
			if (table[i].key[k] == key)
				return &table[i];
	return NULL;
}

enum keys_wish keys_press(struct model *model, uint32_t key)
{
	const struct key_row *row = find(key);

	if (key == SCREEN_KEY_RESIZE || key == SCREEN_KEY_NONE)
		return KEYS_NOTHING;
	if (key == SCREEN_KEY_REDRAW)
		return KEYS_REDRAW;
	model->note[0] = '\0';	/* read by now */
	if (model->view == MODEL_HELP) {
		if (!scroll_help(model, key))
			model->view = model->before_help;
		return KEYS_NOTHING;
	}
	if (model->typing) {
		type(model, key);
		return KEYS_NOTHING;
	}
	return row ? row->press(model, key) : KEYS_NOTHING;
}

struct key_help keys_help(size_t i)
{
	return i < ARRAY_SIZE(table) ? table[i].help : (struct key_help){ NULL, NULL };
}

uint32_t keys_help_count(void)
{
	return ARRAY_SIZE(table);
}
