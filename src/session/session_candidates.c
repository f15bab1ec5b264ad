/* SPDX-License-Identifier: MIT */
/*
 * session_candidates.c - what a leak report gains from watching: sites whose blocks are reachable
 * and yet look like leaks, by their survival (leak/candidates/suspect.h), and the names of
 * variables.
 */
#include "src/session/session_leaks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/leak/analysis/suppressions.h"
#include "src/leak/candidates/suspect.h"
#include "src/leak/variable/assigned.h"
#include "src/session/show_bytes.h"

struct suspects {
	struct session_leaks *l;
	const struct watch *watch;
	const struct snapshot *snapshot;
	struct survival_window window;
	struct session_block **by_site;	/* the reachable ones, sorted by site */
	size_t count;
};

static int by_site(const void *a, const void *b)
{
	const struct session_block *x = *(struct session_block *const *)a;
	const struct session_block *y = *(struct session_block *const *)b;

	if (x->known.site != y->known.site)
		return x->known.site < y->known.site ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int sort_blocks(struct suspects *s)
{
	s->by_site = calloc(s->l->known_count + 1, sizeof(struct session_block *));
	if (!s->by_site)
		return -ENOMEM;
	for (size_t i = 0; i < s->l->known_count; i++)
		if (s->l->known[i].reachable)
			s->by_site[s->count++] = &s->l->known[i];
	qsort(s->by_site, s->count, sizeof(struct session_block *), by_site);
	return 0;
}

static const struct snapshot_site *site_in(const struct snapshot *snapshot, uint32_t id)
{
	for (size_t i = 0; i < snapshot->site_count; i++)
		if (snapshot->site[i].id == id)
			return &snapshot->site[i];
	return NULL;
}

static const char *watched_build_id(void *context, uint32_t module)
{
	const struct module *m = modules_get(context, module);

	return m ? m->build_id : "";
}

/* What the recording given as --history knows of the site. NULL: nothing. */
static const struct suspect_past *past_of(const struct suspects *s, const struct site *site)
{
	const struct session_leaks *l = s->l;
	struct stack stack = stacks_get(s->watch->stacks, site->stack);
	struct history_modules modules = { watched_build_id, l->view->modules };

	if (!l->history || stack.frame_count <= site->skip_frames)
		return NULL;
	return history_find(l->history, site->kind, stack.frame + site->skip_frames,
			    stack.frame_count - site->skip_frames, &modules);
}

/* The group of one site's blocks, the oldest first, which the suspect gets, too. */
static struct leak_group gather(struct suspect *suspect, struct session_block *const *block,
				size_t count)
{
	struct leak_group group = { .site = block[0]->known.site, .growth = NAN,
				    .oldest = block[0]->known.age, .size = block[0]->known.bytes };
	double blocks = 0, bytes = 0;

	for (size_t i = 0; i < count; i++) {
		suspect_add(suspect, block[i]->time, 1, block[i]->weight);
		blocks += block[i]->weight;
		bytes += block[i]->weight * (double)block[i]->known.bytes;
		if (group.size != block[i]->known.bytes)
			group.size = 0;
		if (group.address_count < LEAK_MAX_ADDRESSES) {
			group.example[group.address_count].bytes = block[i]->known.bytes;
			group.address[group.address_count++] = block[i]->known.address;
		}
	}
	group.count = (uint64_t)(blocks + 0.5);
	group.bytes = (uint64_t)(bytes + 0.5);
	return group;
}

static int judge_site(struct suspects *s, struct session_block *const *block, size_t count)
{
	uint32_t id = block[0]->known.site;
	const struct site *site = sites_peek(s->watch->sites, id);
	const struct snapshot_site *shown = site_in(s->snapshot, id);
	const struct suspect_past *past;
	struct suspect_finding finding;
	struct suspect suspect;
	struct leak_group group;

	if (!site || !shown)
		return 0;
	past = past_of(s, site);
	s->l->report->history_sites += past != NULL;
	suspect_begin(&suspect, &s->window, sites_lifetimes(s->watch->sites, site), past);
	group = gather(&suspect, block, count);
	finding = suspect_end(&suspect, shown->verdict == SNAPSHOT_GROWING, TREND_UNKNOWN);
	group.verdict = suspect_verdict(finding.verdict);
	group.by_history = finding.by_past;
	group.growth = shown->growth * 3600;
	if (finding.verdict == SURVIVAL_EARLY)
		return leak_report_add_early(s->l->report, &(struct leak_early){
			.site = id, .count = group.count, .bytes = group.bytes,
			.longest = finding.longest, .needs = finding.needs });
	return group.verdict == LEAK_REACHABLE ? 0 : leak_report_add(s->l->report, &group);
}

static int add_suspects(struct suspects *s)
{
	int error = sort_blocks(s);
	size_t begin = 0;

	for (size_t i = 1; !error && i <= s->count; i++) {
		if (i < s->count &&
		    s->by_site[i]->known.site == s->by_site[begin]->known.site)
			continue;
		error = judge_site(s, &s->by_site[begin], i - begin);
		begin = i;
	}
	free(s->by_site);
	return error;
}

/* "struct node" of "struct node *"; NULL when it is no pointer, or one to anything. */
static char *pointee_of(const char *type)
{
	size_t length = strlen(type);

	if (!length || type[length - 1] != '*')
		return NULL;
	length--;
	while (length && type[length - 1] == ' ')
		length--;
	if (!length || (length >= 4 && strncmp(type + length - 4, "void", 4) == 0))
		return NULL;
	return strndup(type, length);
}

/* What the group's blocks were assigned to where they were allocated. */
static int name_group(struct session_names *names, const struct watch *watch,
		      struct leak_group *group)
{
	const struct site *site = sites_peek(watch->sites, group->site);
	struct stack stack;
	struct assigned found;
	int error;

	if (!site || !site->stack)
		return 0;
	stack = stacks_get(watch->stacks, site->stack);
	if (stack.frame_count <= site->skip_frames)
		return 0;
	error = session_names_assigned(names, stack.frame + site->skip_frames,
				       stack.frame_count - site->skip_frames, &found);
	if (error || found.how == ASSIGNED_UNKNOWN)
		return error;
	if (!group->variable && found.variable[0])
		group->variable = strdup(found.variable);
	if (!group->type && (!group->size || assigned_fits(&found, group->size)))
		group->type = pointee_of(found.type);
	return 0;
}

/* True when a rule of the user's suppresses leaks of this stack. */
static bool is_suppressed(struct session_leaks *l, struct symbolizer *symbolizer,
			  const struct watch *watch, const struct leak_group *group)
{
	const struct site *site = sites_peek(watch->sites, group->site);
	struct suppressions *rules = l->options->suppressions;
	struct stack stack;
	size_t rule = 0;

	if (!rules || !site || !site->stack ||
	    (group->verdict != LEAK_DEFINITELY_LOST && group->verdict != LEAK_POSSIBLY_LOST))
		return false;
	stack = stacks_get(watch->stacks, site->stack);
	for (uint32_t i = 0; !rule && i < stack.frame_count; i++) {
		size_t count = 0;
		const struct symbol_frame *frame = symbolizer_frame(symbolizer, &stack.frame[i],
								    &count);

		rule = frame ? suppressions_match(rules, frame, count) : 0;
	}
	suppressions_hit(rules, rule, group->count + group->indirect_count,
			 group->bytes + group->indirect_bytes);
	return rule != 0;
}

static void take_from(struct leak_sum *sum, uint64_t count, uint64_t bytes)
{
	sum->count -= count < sum->count ? count : sum->count;
	sum->bytes -= bytes < sum->bytes ? bytes : sum->bytes;
}

/* Its blocks count as suppressed, and as nothing else. */
static void suppress(struct leak_report *report, const struct leak_group *group)
{
	bool definite = group->verdict == LEAK_DEFINITELY_LOST;

	take_from(&report->kind[definite ? BLOCK_DEFINITELY_LOST : BLOCK_POSSIBLY_LOST],
		  group->count, group->bytes);
	take_from(&report->kind[BLOCK_INDIRECTLY_LOST], group->indirect_count,
		  group->indirect_bytes);
	report->suppressed.count += group->count + group->indirect_count;
	report->suppressed.bytes += group->bytes + group->indirect_bytes;
}

static void drop_suppressed(struct session_leaks *l, struct symbolizer *symbolizer,
			    const struct watch *watch)
{
	struct leak_report *report = l->report;
	size_t kept = 0;

	for (size_t i = 0; i < report->group_count; i++) {
		struct leak_group *group = &report->group[i];

		if (!group->site || !is_suppressed(l, symbolizer, watch, group)) {
			report->group[kept++] = *group;
			continue;
		}
		suppress(report, group);
		leak_group_done(group);
	}
	report->group_count = kept;
}

static int name_groups(struct session_leaks *l, struct session_names *names,
		       const struct watch *watch)
{
	int error = 0;

	for (size_t i = 0; !error && i < l->report->group_count; i++)
		if (l->report->group[i].site)
			error = name_group(names, watch, &l->report->group[i]);
	return error;
}

/* Traces in stacks: which function's call stood next to them. Without memory, they stay. */
static void name_traces(struct leak_report *report, struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < report->group_count; i++) {
		struct leak_group *group = &report->group[i];
		const struct symbol_frame *frame = NULL;
		char *text = NULL;
		size_t count = 0;

		if (group->last_held_by && group->last_frame.module)
			frame = symbolizer_frame(symbolizer, &group->last_frame, &count);
		if (!frame || !count || !frame->function ||
		    asprintf(&text, "%s, next to a call from %s", group->last_held_by,
			     frame->function) < 0)
			continue;
		free(group->last_held_by);
		group->last_held_by = text;
	}
}

int session_leaks_complete(struct session_leaks *l, struct symbolizer *symbolizer,
			   struct session_names *names, const struct watch *watch,
			   const struct snapshot *snapshot)
{
	struct suspects s = { .l = l, .watch = watch, .snapshot = snapshot };
	int error = 0;

	if (l->report)
		name_traces(l->report, symbolizer);
	if (!l->report || !l->known)
		return 0;
	s.window = (struct survival_window){ .begin = watch->ticks.tsc0, .now = l->moment,
					     .hz = watch->ticks.hz };
	l->report->watched = ticks_seconds(&watch->ticks, l->moment);
	l->report->history = l->history ? history_seconds(l->history) : 0;
	drop_suppressed(l, symbolizer, watch);
	error = add_suspects(&s);
	if (!error)
		error = session_contents_put(l);
	if (!error)
		error = name_groups(l, names, watch);
	leak_report_sort(l->report);
	return error;
}
