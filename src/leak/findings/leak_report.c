/* SPDX-License-Identifier: MIT */
/* leak_report.c - see leak_report.h. */
#include "src/leak/findings/leak_report.h"

#include <errno.h>
#include <math.h>
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
	if (!*ret)
		return -ENOMEM;
	(*ret)->watched = NAN;
	return 0;
}

void leak_content_done(const struct leak_content *content)
{
	free(content->byte);
	free(content->text);
}

uint64_t leak_group_unwatched(const struct leak_group *group)
{
	const struct leak_access *access = group->access;

	return access && access->watched < group->count ? group->count - access->watched : 0;
}

void leak_group_done(const struct leak_group *group)
{
	for (uint32_t i = 0; i < group->content_count; i++)
		leak_content_done(&group->content[i]);
	free(group->content);
	free(group->type);
	free(group->variable);
	free(group->held_by);
	free(group->last_held_by);
	free(group->access);
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
		free(report->early);
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

int leak_report_add_early(struct leak_report *report, const struct leak_early *early)
{
	size_t count = report->early_count;
	struct leak_early *grown = report->early;

	if ((count & (count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, count ? count * 2 : 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	report->early = grown;
	report->early[report->early_count++] = *early;
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint64_t weight_of(const struct leak_group *group)
{
	return group->bytes + group->indirect_bytes;
}

static uint32_t site_of(const struct leak_group *group)
{
	return group->site ? group->site : group->likely_site;
}

/* By bytes within a verdict. Of equal ones, what has a site comes first: it has a name. */
static int by_bytes(const void *a, const void *b)
{
	const struct leak_group *x = a, *y = b;

	if (x->verdict != y->verdict)
		return compare(x->verdict, y->verdict);
	if (weight_of(x) != weight_of(y))
		return compare(weight_of(y), weight_of(x));
	if (!x->site != !y->site)
		return x->site ? -1 : 1;
	if (site_of(x) != site_of(y))
		return compare(site_of(x), site_of(y));
	return x->count != y->count ? compare(x->count, y->count) :
				      compare(x->address[0], y->address[0]);
}

static int by_early_bytes(const void *a, const void *b)
{
	const struct leak_early *x = a, *y = b;

	return x->bytes != y->bytes ? compare(y->bytes, x->bytes) : compare(x->site, y->site);
}

bool leak_report_walked_all(const struct leak_report *report)
{
	for (uint32_t i = 0; i < report->heap_count; i++)
		if (!report->heap[i].covered)
			return false;
	return true;
}

void leak_report_sort(struct leak_report *report)
{
	if (report->early_count)
		qsort(report->early, report->early_count, sizeof(*report->early), by_early_bytes);
	if (report->group_count)
		qsort(report->group, report->group_count, sizeof(*report->group), by_bytes);
}
