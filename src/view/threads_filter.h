/* SPDX-License-Identifier: MIT */
/* threads_filter.h - --thread=NUMBER|ID|NAME: which threads, and their part in each site. */
#ifndef MEMATTACH_VIEW_THREADS_FILTER_H
#define MEMATTACH_VIEW_THREADS_FILTER_H

#include <stdbool.h>

#include "src/live/snapshot.h"
#include "src/live/thread_table.h"

/* The threads that were asked for. Borrows table. */
struct threads_choice {
	const struct thread_table *table;
	size_t count;
	uint32_t *number;		/* ascending */
};
/*
 * Those that wanted names: a number is that in the view threads if there is one such, else a
 * thread's id; other words are a name, which several threads may have. 0 or -ENOMEM.
 */
int threads_choose(const struct thread_table *table, const char *wanted,
		   struct threads_choice *ret) _must_check_;
void threads_choice_done(struct threads_choice *choice);
bool threads_chosen(const struct threads_choice *choice, uint32_t number);
/* Calls that are booked to no thread, because their site has too many: of no filter's. */
uint64_t threads_untold(const struct thread_table *table);
/*
 * *ret: a copy of site with the figures that the chosen threads have there; what is not known by
 * thread is 0. False: they allocated nothing there, or it is no site of blocks.
 */
bool threads_part(const struct threads_choice *choice, const struct snapshot_site *site,
		  struct snapshot_site *ret);

#endif
