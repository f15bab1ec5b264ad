/* SPDX-License-Identifier: MIT */
/* loss.h - what finds no room is counted (docs/RING.md, Pressure). */
#ifndef MEMATTACH_SHIM_LOSS_H
#define MEMATTACH_SHIM_LOSS_H

#include "inject/shim/shim.h"

/* event, which belongs into that ring, is lost. */
void shim_loss_count(struct ring_head *head, const struct shim_event *event);
/*
 * Under pressure: an ALLOC of size bytes, or a FREE, is lost at once, by the thread of that thread
 * pointer. Once in a while the clock is looked at: who loses everything would not notice that the
 * epoch lapsed.
 */
void shim_loss_alloc(struct ring_control *control, uint64_t thread, uint64_t size);
void shim_loss_free(struct ring_control *control, uint64_t thread);

#endif
