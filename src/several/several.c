/* SPDX-License-Identifier: MIT */
/*
 * several.c - see several.h.
 *
 * The order of processes is theirs (live bytes, id, time), not that in which they are named: the
 * same recordings give the same report. Refused: two recordings of one session, whose figures
 * would count twice.
 */
#include "src/several/several.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/several/several_private.h"
#include "src/view/view_metric.h"
#include "src/view/view_sites.h"

#define START_TOLERANCE 2.0	/* seconds; the kernel's boot time moves with the clock */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Hostile ones may be no numbers: then as they are. */
static int compare_times(double a, double b)
{
	return (a > b) - (a < b);
}

static int by_live(const void *left, const void *right)
{
	const struct several_process *a = left, *b = right;
	const struct snapshot *x, *y;

	if (!a->content || !b->content)
		return !a->content && !b->content ? (a->pid > b->pid) - (a->pid < b->pid) :
		       !a->content ? 1 : -1;
	x = a->content->snapshot;
	y = b->content->snapshot;
	return compare(y->totals.live_bytes, x->totals.live_bytes) ?:
	       (a->pid > b->pid) - (a->pid < b->pid) ?:
	       compare_times(x->session.begin_time, y->session.begin_time);
}

static bool is_same_process(const struct snapshot *a, const struct snapshot *b)
{
	return a->target.pid == b->target.pid &&
	       fabs(a->target.start_time - b->target.start_time) <= START_TOLERANCE;
}

static bool is_same_session(const struct snapshot *a, const struct snapshot *b)
{
	return is_same_process(a, b) && !(a->session.begin_time < b->session.begin_time) &&
	       !(a->session.begin_time > b->session.begin_time);
}

static int find_twice(const struct several_input *input, size_t count, size_t *ret)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (input[i].content && input[j].content &&
			    is_same_session(input[i].content->snapshot,
					    input[j].content->snapshot)) {
				*ret = i;
				return -EEXIST;
			}
	return 0;
}

static void mark_later(struct several *several)
{
	for (size_t i = 0; i < several->watched; i++)
		for (size_t j = 0; j < several->watched; j++) {
			const struct snapshot *a = several->process[i].content->snapshot;
			const struct snapshot *b = several->process[j].content->snapshot;

			several->process[i].after_exec |= i != j && is_same_process(a, b) &&
				a->session.begin_time > b->session.begin_time;
		}
}

static int add_processes(struct several *several, const struct several_input *input, size_t count)
{
	several->process = calloc(count + 1, sizeof(*several->process));
	if (!several->process)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct recording_content *content = input[i].content;
		struct several_process *to = &several->process[several->process_count++];

		to->content = content;
		to->pid = content ? content->snapshot->target.pid : input[i].pid;
		to->problem = content ? NULL : input[i].problem;
		to->name = strdup(content ? view_base_name(content->snapshot->target.exe) :
				  input[i].name);
		if (!to->name)
			return -ENOMEM;
		several->watched += content != NULL;
	}
	qsort(several->process, count, sizeof(*several->process), by_live);
	mark_later(several);
	return 0;
}

static void several_add(uint64_t *to, uint64_t more)
{
	*to = view_sum(*to, more);
}

static void add_totals(struct snapshot_totals *to, const struct snapshot_totals *t)
{
	several_add(&to->alloc_count, t->alloc_count);
	several_add(&to->alloc_bytes, t->alloc_bytes);
	several_add(&to->free_count, t->free_count);
	several_add(&to->free_bytes, t->free_bytes);
	several_add(&to->double_free_count, t->double_free_count);
	several_add(&to->illegal_free_count, t->illegal_free_count);
	several_add(&to->free_unknown_count, t->free_unknown_count);
	several_add(&to->temporary_count, t->temporary_count);
	several_add(&to->overhead_bytes, t->overhead_bytes);
	several_add(&to->live_count, t->live_count);
	several_add(&to->live_bytes, t->live_bytes);
	several_add(&to->samples, t->samples);
}

static void add_maps(struct snapshot_map_totals *to, const struct snapshot_map_totals *t)
{
	several_add(&to->map_count, t->map_count);
	several_add(&to->map_bytes, t->map_bytes);
	several_add(&to->unmap_count, t->unmap_count);
	several_add(&to->unmap_bytes, t->unmap_bytes);
	several_add(&to->live_count, t->live_count);
	several_add(&to->live_bytes, t->live_bytes);
}

/* In what all sessions are alike, this is one too: what only some know is not known. */
static void add_session(struct snapshot *to, const struct snapshot *s, bool first)
{
	const struct snapshot_session *session = &s->session;

	if (first || to->session.mode == session->mode)
		to->session.mode = session->mode;
	else
		to->session.mode = SNAPSHOT_ADAPTIVE;
	if (first || to->session.duration < session->duration)
		to->session.duration = session->duration;
	to->exact = (first || to->exact) && s->exact;
	to->every_alloc = (first || to->every_alloc) && s->every_alloc;
	to->site_intervals = (first || to->site_intervals) && s->site_intervals;
	to->complete = (first || to->complete) && s->complete;
	several_add(&to->session.lost.alloc, session->lost.alloc);
	several_add(&to->session.lost.free, session->lost.free);
	several_add(&to->session.lost.stack, session->lost.stack);
	several_add(&to->session.lost.map, session->lost.map);
	several_add(&to->session.lost.alloc_bytes, session->lost.alloc_bytes);
}

static int by_size(const void *left, const void *right)
{
	const struct snapshot_bar *a = left, *b = right;

	return compare(a->size, b->size);
}

static int add_histograms(struct several *several)
{
	struct snapshot *to = several->snapshot;
	size_t room = 1, count = 0, last = 0;

	for (size_t i = 0; i < several->watched; i++)
		room += several->process[i].content->snapshot->histogram_count;
	to->histogram = calloc(room, sizeof(*to->histogram));
	if (!to->histogram)
		return -ENOMEM;
	for (size_t i = 0; i < several->watched; i++) {
		const struct snapshot *s = several->process[i].content->snapshot;

		for (size_t j = 0; j < s->histogram_count; j++)
			to->histogram[count++] = s->histogram[j];
	}
	qsort(to->histogram, count, sizeof(*to->histogram), by_size);
	for (size_t i = 1; i < count; i++) {
		if (to->histogram[i].size == to->histogram[last].size)
			several_add(&to->histogram[last].count, to->histogram[i].count);
		else
			to->histogram[++last] = to->histogram[i];
	}
	to->histogram_count = count ? last + 1 : 0;
	return 0;
}

static int add_all(struct several *several)
{
	struct snapshot *to = several->snapshot;
	int err = several_match_init(several);

	for (size_t i = 0; i < several->watched; i++) {
		const struct snapshot *s = several->process[i].content->snapshot;

		add_totals(&to->totals, &s->totals);
		add_maps(&to->map_totals, &s->map_totals);
		add_session(to, s, i == 0);
		several->partial |= snapshot_is_partial(s);
	}
	if (err == 0)
		err = add_histograms(several);
	if (err == 0)
		err = several_sites_add(several);
	if (err == 0)
		err = several_leaks_add(several);
	return err;
}

int several_new(const struct several_input *input, size_t count, struct several **ret,
		size_t *ret_twice)
{
	struct several *several;
	int err = find_twice(input, count, ret_twice);

	if (err < 0)
		return err;
	several = calloc(1, sizeof(*several));
	if (!several)
		return -ENOMEM;
	several->tables = calloc(1, sizeof(*several->tables));
	if (!several->tables || snapshot_new(&several->snapshot) < 0 ||
	    stacks_new(&several->stacks) < 0)
		err = -ENOMEM;
	several->names = several_stacks_names(several);
	if (err == 0)
		err = add_processes(several, input, count);
	if (err == 0)
		err = add_all(several);
	if (err < 0) {
		several_free(several);
		return err;
	}
	*ret = several;
	return 0;
}

void several_free(struct several *several)
{
	if (!several)
		return;
	for (size_t i = 0; several->site && i < several->snapshot->site_count; i++)
		free(several->site[i].part);
	free(several->site);
	several_leaks_done(several);
	if (several->tables) {
		for (size_t p = 0; several->tables->site_id && p < several->watched; p++)
			free(several->tables->site_id[p]);
		free(several->tables->site_id);
		several_stacks_done(several);
		several_match_done(several);
	}
	for (size_t i = 0; i < several->process_count; i++)
		free(several->process[i].name);
	free(several->process);
	snapshot_free(several->snapshot);
	free(several->tables);
	free(several);
}

char *several_process_title(const struct several_process *process)
{
	char *title;
	const char *after = process->after_exec ? " after exec" : "";

	return asprintf(&title, "%s%s", process->name, after) < 0 ? NULL : title;
}
