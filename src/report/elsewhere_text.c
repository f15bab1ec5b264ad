/* SPDX-License-Identifier: MIT */
/* elsewhere_text.c - see elsewhere_text.h. */
#include "src/report/elsewhere_text.h"

#include <string.h>

#include "src/base/cleanup.h"
#include "src/report/human.h"

#define LEAST (32u << 20) /* bytes: what is smaller troubles nobody */

/* What gives back what an allocator keeps; NULL where nothing is known to. */
static const char *giving_back(const struct snapshot_target *target)
{
	static const struct { const char *name, *words; } known[] = {
		{ "glibc", "malloc_trim(0) gives back what is free and kept" },
		{ "jemalloc", "a shorter dirty_decay_ms gives back what is free and kept" },
		{ "mimalloc", "mi_collect(true) gives back what is free and kept" },
		{ "tcmalloc", "ReleaseFreeMemory() of MallocExtension gives back what is free and "
			      "kept" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known) && target->allocator_count == 1; i++)
		if (strcmp(target->allocator[0].name, known[i].name) == 0)
			return known[i].words;
	return NULL;
}

void elsewhere_text_put(FILE *out, const struct snapshot *snapshot)
{
	const struct snapshot_target *target = &snapshot->target;
	uint64_t seen = snapshot->totals.live_bytes_high;
	const char *remedy = giving_back(target);

	if (target->rss_bytes < LEAST || seen >= target->rss_bytes / 4 ||
	    snapshot->session.detached == SNAPSHOT_TARGET_ENDED)
		return;
	fprintf(out, "  %-12s %12s of what is resident: older blocks, free memory that the "
		"allocator keeps,\n%28sother mappings. How much of each: memattach -p %d -d 0 "
		"--view=fragmentation\n", "elsewhere",
		human_bytes((double)(target->rss_bytes - seen)).text, "", target->pid);
	if (remedy)
		fprintf(out, "%28s%s\n", "", remedy);
}
