/* SPDX-License-Identifier: MIT */
/*
 * free_places.h - where blocks from before the attach can be, and where none can.
 */
#ifndef MEMATTACH_FREE_PLACES_H
#define MEMATTACH_FREE_PLACES_H

#include "src/ring/event.h"
#include "src/target/target_view.h"
#include "src/live/wrong_frees.h"

struct free_places;
/* view is borrowed and must outlive it. 0 or -ENOMEM. */
int free_places_new(const struct target_view *view, struct free_places **ret) _must_check_;
void free_places_free(struct free_places *places);
/*
 * Blocks from before the attach can be in what view's maps show now. Once when everything
 * is recorded, and for some seconds after: a call that began before returns its block late.
 */
void free_places_note(struct free_places *places);
/*
 * [low, high) is unmapped, by an event that is just booked: no block from before the attach is
 * there any more, and no memory until something is mapped there, or maps are read again (of the
 * last 256 unmappings). Without memory it is as if nothing had been said.
 */
void free_places_unmap(struct free_places *places, uint64_t low, uint64_t high);
/* The same failed: it may hold such blocks after all. */
void free_places_unmap_failed(struct free_places *places, uint64_t low, uint64_t high);
/*
 * Why no block from before the attach begins at event's address; WRONG_FREE_NOT: one may.
 * WRONG_FREE_STACK and WRONG_FREE_STATIC hold for glibc's blocks, the others for all.
 */
enum wrong_free_reason free_places_judge(const struct free_places *places,
					 const struct event *event);

#endif
