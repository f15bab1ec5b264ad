/* SPDX-License-Identifier: MIT */
/* load_seen.h - which of the mappings that were asked for are in the target, and which are ours. */
#ifndef MEMATTACH_LOAD_SEEN_H
#define MEMATTACH_LOAD_SEEN_H

#include "inject/attach/attachment.h"
#include "src/base/procmaps.h"

/*
 * Sets shim_base to where the first page of our shim's file is mapped, unchanged: nowhere; and
 * half. 0 or -errno.
 */
int load_find_shim(struct attachment *a) _must_check_;
/*
 * Lies there but a part of the shim, left by a dlopen that failed? The root page comes last. Only
 * where no dlopen is under way.
 */
bool load_is_half(const struct attachment *a, const struct procmaps *maps);
/*
 * What was never mapped, or somebody else has taken out, must not be unmapped by its address; what
 * was mapped in this very stop (a->seen) must, whichever file has got under our descriptor's
 * number. Forgets the former, and sets ring_low and ring_high. maps: of now.
 */
void load_forget_foreign(struct attachment *a, const struct procmaps *maps);

#endif
