/* SPDX-License-Identifier: MIT */
/*
 * evict.h - keeps what a watch remembers within --max-memory (docs/MEMORY.md): cold sites become
 * "other", and where too many blocks live a sample of them is kept.
 */
#ifndef MEMATTACH_EVICT_H
#define MEMATTACH_EVICT_H

#include "src/watch/watch.h"

#define EVICT_DEFAULT	(256ull << 20)
#define EVICT_LEAST	(16ull << 20)

/* Before the first event: what has a bound of its own gets its share. */
void evict_begin(struct watch *watch);
/* Every so many events (at most): makes room if there is not enough for as many more. */
#define EVICT_EVENTS 64u
void evict_if_needed(struct watch *watch);
/* What became of it, for the session. */
void evict_note(const struct watch *watch, struct snapshot_session *session);

#endif
