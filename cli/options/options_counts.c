/* SPDX-License-Identifier: MIT */
/* options_counts.c - what --counts does not go with: all that needs each event, or each block. */
#include "cli/options/options.h"

#include "src/base/log.h"
#include "src/plan/allocators.h"

/* The option that looks for blocks, or at them; NULL: there is none. */
static const char *about_blocks(const struct cli_options *o)
{
	const struct session_options *s = &o->session;

	return s->trace_to ? "--trace-to" : s->leaks ? "--leaks" : s->heaps ? "--heaps" :
	       s->history ? "--history" : s->access_seconds > 0 ? "--access" :
	       s->show_bytes ? "--show-bytes" : NULL;
}

/* One that is about records, of which there are none; NULL. */
static const char *about_records(const struct cli_options *o)
{
	const struct session_options *s = &o->session;

	return o->overflow_given ? "--on-overflow" : s->free_stacks ? "--frees" :
	       s->stacks == STACKS_COPY ? "--stacks=copy" : NULL;
}

static int check_view(const struct session_options *s)
{
	const struct view *view = s->view;

	if (!view || (view->counted && view->counted <= s->counts))
		return SESSION_OK;
	if (view->counted)
		log_error("--view=%s shows what is counted by --counts=%s", view->name,
			  view->counted == COUNTS_SITES ? "sites" : "histogram");
	else
		log_error("--view=%s needs to know each block: use --exact, not --counts",
			  view->name);
	return SESSION_USAGE;
}

int options_check_counts(const struct cli_options *o)
{
	const struct session_options *s = &o->session;
	const char *blocks = about_blocks(o), *records = about_records(o);

	if (!s->counts)
		return SESSION_OK;
	if (blocks)
		log_error("%s needs to know each block, and --counts knows none: use --exact",
			  blocks);
	else if (records)
		log_error("%s is about records of events, and --counts makes none", records);
	else if (s->track == ALLOCATOR_TRACK_MMAP)
		log_error("--counts counts calls of the malloc family: it does not go with "
			  "--track=mmap");
	else if (s->snapshot_on.allocated || s->snapshot_on.growth || s->snapshot_on.peak)
		log_error("--counts is looked at now and then: of --snapshot-on it goes with "
			  "SIGUSR1 alone");
	else if (options_are_several(o))
		log_error("--counts is about one process: choose one with -p");
	else
		return check_view(s);
	return SESSION_USAGE;
}
