/* SPDX-License-Identifier: MIT */
/* counts_setup.h - the counters in the shared memory before anything is counted. */
#ifndef MEMATTACH_COUNTS_SETUP_H
#define MEMATTACH_COUNTS_SETUP_H

#include "inject/attach/attachment.h"

/*
 * Adds what counting of that kind (enum counts_kind) needs. few: where memory that is not used
 * costs something, too; then fewer threads have counters of their own.
 */
void counts_setup_geometry(struct ring_geometry *geometry, uint32_t kind, bool few);
/* Bytes of counters for slots threads. */
uint64_t counts_setup_bytes(uint32_t kind, uint64_t slots);
/*
 * Fills the head. Of the functions that plan proposes for usable sizes only those are taken that
 * lie in the live target's code beside an entry of the same allocator; without, sizes are not
 * known. pre: control was set up with that geometry. 0 or -errno of reading the maps.
 */
int counts_setup_head(struct ring_control *control, uint32_t kind, const struct hook_plan *plan,
		      int maps_fd) _must_check_;

#endif
