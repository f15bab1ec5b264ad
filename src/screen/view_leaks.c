/* SPDX-License-Identifier: MIT */
/*
 * view_leaks.c - what a search for leaks found: how far it reached, the sums, the groups of lost
 * and suspect blocks, and all that is known of the selected one.
 *
 * The header above goes on, as the session does. An answer stays until the next one is there.
 */
#include <string.h>

#include "src/report/human.h"
#include "src/screen/screen_put.h"
#include "src/screen/screen_view.h"

#include <ncurses.h>

#define SUM_COLUMNS	19	/* four of them fit into 80 */
#define VERDICT_COLUMN	22
#define NAME_COLUMN	38
#define LIST_LEAST	3
#define SUMS_LEAST	6	/* lines: with fewer, groups come first */

static const char *verdict_name(uint32_t verdict)
{
	static const char *const name[SCREEN_VERDICTS] = {
		[SCREEN_LOST] = "definitely lost", [SCREEN_MAYBE_LOST] = "possibly lost",
		[SCREEN_STUCK] = "stuck", [SCREEN_GROWING] = "growing", [SCREEN_OLD] = "old",
	};

	return name[verdict];
}

/* ---- above the groups ---- */

static void put_search(const struct model *model, int y)
{
	const struct model_leaks *leaks = &model->leaks;
	double since = model->state.time - leaks->since;

	view_fill(y, VIEW_BAR);
	if (leaks->searching)
		(void)view_putf(y, 1, COLS - 1, VIEW_BAR, "leaks   searching ...  (%s; the process "
				"runs on)", human_seconds(since > 0 ? since : 0).text);
	else if (leaks->problem)
		(void)view_putf(y, 1, COLS - 1, VIEW_WARN, "no leak check: %s", leaks->problem);
	else if (leaks->found)
		(void)view_putf(y, 1, COLS - 1, VIEW_BAR, "leaks   at %s: %s searched in %s; it "
				"stood still for %s", human_seconds(leaks->head.time).text,
				human_bytes((double)leaks->head.scanned_bytes).text,
				human_seconds(leaks->head.seconds).text,
				human_seconds((double)leaks->head.pause_us / 1e6).text);
}

static int put_sums(const struct screen_leaks *head, int y)
{
	static const char *const title[] = {
		[SCREEN_DEFINITELY] = "definitely lost", [SCREEN_INDIRECTLY] = "indirectly lost",
		[SCREEN_POSSIBLY] = "possibly lost", [SCREEN_REACHABLE] = "still reachable",
		[SCREEN_SUPPRESSED] = "suppressed",
	};
	char text[80];

	for (int i = 0, x = 1; i < SCREEN_LEAK_KINDS; i++, x += SUM_COLUMNS) {
		if (i == SCREEN_SUPPRESSED && !head->kind[i].count)
			continue;
		(void)snprintf(text, sizeof(text), "%s in %s",
			       human_bytes((double)head->kind[i].bytes).text,
			       human_count((double)head->kind[i].count).text);
		view_put_right(y, x, SUM_COLUMNS - 1, VIEW_DIM, title[i]);
		view_put_right(y + 1, x, SUM_COLUMNS - 1, VIEW_BOLD, text);
	}
	return y + 2;
}

/* ---- the groups ---- */

static const char *name_of(const struct model *model, const struct screen_group *group)
{
	const char *name = model_name(model, group->site)->function;

	if (!group->site)
		return model->state.every_alloc ? "(before the attach)" : "(before, or no sample)";
	return name[0] ? name : "...";
}

static void put_group(const struct model *model, int y, const struct model_group *group,
		      bool chosen)
{
	const struct screen_group *figures = &group->figures;
	enum view_style style = chosen ? VIEW_CHOSEN : VIEW_PLAIN;
	const char *type = group->text[GROUP_TYPE], *variable = group->text[GROUP_VARIABLE];
	int x = NAME_COLUMN;

	if (chosen) {
		view_fill(y, VIEW_CHOSEN);
		(void)view_put(y, 0, 1, VIEW_CHOSEN, ">");
	}
	view_put_right(y, 1, 10, style, human_bytes((double)figures->bytes).text);
	view_put_right(y, 12, 8, style, human_count((double)figures->count).text);
	(void)view_put(y, VERDICT_COLUMN, NAME_COLUMN - VERDICT_COLUMN - 1,
		       !chosen && figures->verdict == SCREEN_LOST ? VIEW_WARN : style,
		       verdict_name(figures->verdict));
	x += view_put(y, x, COLS - x, chosen ? style : VIEW_NAME, name_of(model, figures));
	if (type || variable)
		(void)view_putf(y, x + 2, COLS - x - 2, chosen ? style : VIEW_DIM, "%s%s%s",
				variable ? variable : "", variable && type ? ": " : "",
				type ? type : "");
}

static void put_titles(int y)
{
	view_fill(y, VIEW_BAR);
	view_put_right(y, 1, 10, VIEW_BAR, "bytes");
	view_put_right(y, 12, 8, VIEW_BAR, "blocks");
	(void)view_put(y, VERDICT_COLUMN, COLS, VIEW_BAR, "verdict");
	(void)view_put(y, NAME_COLUMN, COLS, VIEW_BAR, "allocated by  variable: type");
}

static void put_groups(struct model *model, int y, int end)
{
	const struct model_leaks *leaks = &model->leaks;

	put_titles(y++);
	model->page = end > y ? (uint32_t)(end - y) : 1;
	model_scroll(model);
	if (leaks->head.group_count == 0 && y < end)
		(void)view_put(y, 3, COLS - 3, VIEW_PLAIN, leaks->uncovered && leaks->uncovered[0] ?
				       "nothing lost, nothing suspect in what was searched" :
				       "nothing lost, nothing suspect");
	for (uint32_t i = model->groups.top; i < leaks->head.group_count && y < end; i++)
		put_group(model, y++, &leaks->group[i], i == model->groups.selected);
}

/* ---- the selected one ---- */

static bool is_too_few(const struct model *model, const struct screen_group *figures)
{
	bool by_site = figures->verdict == SCREEN_STUCK || figures->verdict == SCREEN_GROWING ||
		       figures->verdict == SCREEN_OLD;

	for (uint32_t i = 0; by_site && i < model->state.site_count; i++)
		if (model->site[i].id == figures->site)
			return model->site[i].too_few != 0;
	return false;
}

static int put_blocks(const struct model *model, int y, int end,
		      const struct screen_group *figures)
{
	int x = 3;

	if (y >= end)
		return y;
	if (figures->size)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "%s each; ",
			       human_bytes((double)figures->size).text);
	if (figures->indirect_count)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "%s lost with them; ",
			       human_bytes((double)figures->indirect_bytes).text);
	if (figures->oldest >= 0)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "the oldest is %s old; ",
			       human_seconds(figures->oldest).text);
	if (is_too_few(model, figures))
		x += view_put(y, x, COLS - x, VIEW_WARN, "on too few samples; ");
	x += view_put(y, x, COLS - x, VIEW_PLAIN, "at");
	for (uint32_t i = 0; i < figures->address_count; i++)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, " 0x%llx",
			       (unsigned long long)figures->address[i]);
	return y + 1;
}

static int put_text(int y, int end, const char *what, const char *text)
{
	if (y >= end || !text || !text[0])
		return y;
	(void)view_put(y, 3 + view_put(y, 3, COLS - 3, VIEW_DIM, what), COLS, VIEW_PLAIN, text);
	return y + 1;
}

static int put_variable(int y, int end, const char *variable, const char *type)
{
	int x = 3;

	if (y >= end || (!variable && !type))
		return y;
	if (variable) {
		x += view_put(y, x, COLS - x, VIEW_DIM, "assigned to ");
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "%s%s", variable, type ? ", " : "");
	}
	if (type) {
		x += view_put(y, x, COLS - x, VIEW_DIM, "of type ");
		(void)view_put(y, x, COLS - x, VIEW_PLAIN, type);
	}
	return y + 1;
}

/* What is known beside the stack; the next free line. */
static int put_known(const struct model *model, int y, int end, const struct model_group *group)
{
	const struct model_name *likely = model_name(model, group->figures.likely_site);

	y = put_blocks(model, y, end, &group->figures);
	y = put_variable(y, end, group->text[GROUP_VARIABLE], group->text[GROUP_TYPE]);
	y = put_text(y, end, "held by ", group->text[GROUP_HELD_BY]);
	y = put_text(y, end, "still named by ", group->text[GROUP_LAST_HELD_BY]);
	return put_text(y, end, "same size as what is allocated by ", likely->function);
}

static void put_selected(const struct model *model, int y, int end)
{
	const struct model_group *group = model_group(model);

	view_fill(y, VIEW_BAR);
	if (!group)
		return;
	(void)view_putf(y++, 1, COLS, VIEW_BAR, "group %u of %u: %s, %s in %s block%s",
			model->groups.selected + 1, model->leaks.head.groups_total,
			verdict_name(group->figures.verdict),
			human_bytes((double)group->figures.bytes).text,
			human_count((double)group->figures.count).text,
			group->figures.count == 1 ? "" : "s");
	y = put_known(model, y, end, group);
	if (group->figures.site && y < end)
		view_stack(model, group->figures.site, y, end);
	else if (y < end)
		(void)view_put(y, 3, COLS - 3, VIEW_DIM, model->state.every_alloc ?
			       "allocated before the attach" : "allocated before the attach, or "
			       "not among the samples (--exact sees all)");
}

/* Of room lines for groups and what is known of one: how many the groups get. */
static int groups_room(const struct model *model, int room)
{
	int rows = (int)model->leaks.head.group_count + 1, half = room / 2;

	if (!model->show_stack || half < LIST_LEAST)
		return room;
	if (rows < LIST_LEAST)
		rows = LIST_LEAST;
	return rows < half ? rows : half;
}

static int put_doubts(const struct model_leaks *leaks, int y)
{
	if (leaks->uncovered && leaks->uncovered[0])
		(void)view_put(y++, 1, COLS - 1, VIEW_WARN, leaks->uncovered);
	else if (leaks->head.early)
		(void)view_putf(y++, 1, COLS - 1, VIEW_DIM, "too early to tell whether the blocks "
				"of %s site%s will be freed", human_exact(leaks->head.early).text,
				leaks->head.early == 1 ? "" : "s");
	return y;
}

int view_leaks(struct model *model, int y, int end)
{
	const struct model_leaks *leaks = &model->leaks;
	int list;

	put_search(model, y++);
	if (!leaks->found || y >= end)
		return end;
	if (end - y > SUMS_LEAST) {
		y = put_sums(&leaks->head, y);
		y = put_doubts(leaks, y);
	}
	list = groups_room(model, end - y);
	put_groups(model, y, y + list);
	if (y + list < end)
		put_selected(model, y + list, end);
	return end;
}
