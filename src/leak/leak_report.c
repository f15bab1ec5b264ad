/* SPDX-License-Identifier: MIT */
/* leak_report.c - see leak_report.h. */
#include "src/leak/leak_report.h"

#include <errno.h>
#include <stdlib.h>

const char *leak_verdict_name(enum leak_verdict verdict)
{
	static const char *const names[] = {
		[LEAK_DEFINITELY_LOST] = "definitely-lost",
		[LEAK_POSSIBLY_LOST] = "possibly-lost",
		[LEAK_STUCK] = "stuck",
		[LEAK_GROWING] = "growing",
		[LEAK_OLD] = "old",
		[LEAK_REACHABLE] = "still-reachable",
	};

	return (size_t)verdict < ARRAY_SIZE(names) ? names[verdict] : "unknown";
}

int leak_report_new(struct leak_report **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void leak_group_done(const struct leak_group *group)
{
	free(group->type);
	free(group->variable);
	free(group->held_by);
}

void leak_report_free(struct leak_report *report)
{
	for (size_t i = 0; report && i < report->group_count; i++)
		leak_group_done(&report->group[i]);
	for (size_t i = 0; report && i < report->trace_count; i++)
		free(report->trace[i]);
	if (report) {
		free(report->trace);
		free(report->group);
	}
	free(report);
}

int leak_report_add(struct leak_report *report, const struct leak_group *group)
{
	size_t count = report->group_count;
	struct leak_group *grown = report->group;

	if ((count & (count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, count ? count * 2 : 1, sizeof(*grown));
	if (!grown) {
		leak_group_done(group);
		return -ENOMEM;
	}
	report->group = grown;
	report->group[report->group_count++] = *group;
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	const struct leak_group *x = a, *y = b;
	uint64_t xb = x->bytes + x->indirect_bytes, yb = y->bytes + y->indirect_bytes;

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (xb != yb)
		return xb > yb ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

void leak_report_sort(struct leak_report *report)
{
	if (report->group_count)
		qsort(report->group, report->group_count, sizeof(*report->group), by_weight);
}
