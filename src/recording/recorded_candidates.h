/* SPDX-License-Identifier: MIT */
/*
 * recorded_candidates.h - sites of a recording whose blocks nobody seems to free: judged by the
 * lifetimes, births and snapshots in it, as the end of a watch judges its own
 * (leak/candidates/suspect.h).
 */
#ifndef MEMATTACH_RECORDING_SUSPECTS_H
#define MEMATTACH_RECORDING_SUSPECTS_H

#include "src/leak/candidates/suspect.h"
#include "src/recording/recording.h"

/*
 * The verdict on content->snapshot->site[at]. past: of an earlier recording, or NULL. False: there
 * is nothing to judge, since none of its blocks live and none was freed, or it has mappings. pre:
 * content->lives.
 */
bool recording_suspect(const struct recording_content *content, size_t at,
		       const struct suspect_past *past, struct suspect_finding *ret);
/* All sites; *ret is unsearched, and the caller's. pre: content->lives. 0 or -ENOMEM. */
int recording_suspects(const struct recording_content *content, struct leak_report **ret)
	_must_check_;

#endif
