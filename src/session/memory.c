/* SPDX-License-Identifier: MIT */
/*
 * memory.c - see memory.h.
 *
 * With a picture of the heaps, the mappings are looked at right after it was taken, so that what
 * the heaps hold and what is resident are of the same moment; else when watching is over, before
 * the target is left. What goes wrong here costs a view, never the session.
 */
#include "src/session/memory.h"

#include <errno.h>

#include "src/memory/regions_take.h"

bool session_memory_wants_heaps(const struct session_options *options)
{
	return options->leaks || options->heaps;
}

bool session_memory_wants_regions(const struct session_options *options)
{
	return options->output || session_memory_wants_heaps(options) ||
	       view_needs(options->view);
}

int session_memory_take(struct session_memory *m, const struct target_view *view,
			void (*idle)(void *context), void *idle_context)
{
	const struct regions_input input = {
		.maps_fd = view->maps_fd, .pagemap_fd = view->pagemap, .reader = &view->reader,
		.modules = view->modules, .idle = idle, .idle_context = idle_context,
	};
	int error;

	regions_free(m->regions);
	m->regions = NULL;
	m->told = false;
	error = regions_take(&input, &m->regions, &m->present, &m->told);
	if (!error)
		m->regions->rss_bytes = target_view_sizes(view).rss;
	return error;
}

int session_memory_begin_walk(struct session_memory *m, struct analysis_input *input)
{
	int error = m->figures ? 0 : heap_figures_new(&m->figures);

	input->figures = m->figures;
	input->present = m->told ? &m->present : NULL;
	return error;
}

int session_memory_end_walk(struct session_memory *m, struct analysis *analysis,
			    const struct picture *picture)
{
	_cleanup_(ranges_done) struct ranges heap = { 0, 0, NULL };
	int error = analysis_add_books(analysis, &heap);

	if (error || !m->regions)
		return error;
	regions_note_heap(m->regions, &heap);
	for (size_t i = 0; i < picture->thread_count; i++)
		regions_note_thread(m->regions, picture->thread[i].tid,
				    picture->thread[i].registers.rsp);
	return 0;
}

void session_memory_forget_walk(struct session_memory *m)
{
	heap_figures_free(m->figures);
	m->figures = NULL;
}

void session_memory_done(struct session_memory *m)
{
	session_memory_forget_walk(m);
	regions_free(m->regions);
	ranges_done(&m->present);
	*m = (struct session_memory){ .regions = NULL };
}
