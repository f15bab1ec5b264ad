/* SPDX-License-Identifier: MIT */
/*
 * free_places.h - where blocks from before the attach can be, and where none can.
 */
#ifndef MEMATTACH_FREE_PLACES_H
#define MEMATTACH_FREE_PLACES_H

#include "src/event.h"
#include "src/session/target_view.h"
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
 * For live_options.place, context: the struct free_places. Why no glibc block from before
 * the attach begins at event's address; WRONG_FREE_NOT: one may.
 */
enum wrong_free_reason free_places_judge(void *context, const struct event *event);

#endif
