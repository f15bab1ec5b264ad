/* SPDX-License-Identifier: MIT */
/* leak_report.c - see leak_report.h. */
#include "src/leak/leak_report.h"

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

/* A group in the order of the report. */
struct rank {
	struct leak_group group;
	uint64_t family;	/* the site, also of older blocks that are probably its */
	uint64_t weight;	/* of the family, among groups of the same verdict */
};

static uint64_t weight_of(const struct leak_group *group)
{
	return group->bytes + group->indirect_bytes;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_family(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return x->group.verdict != y->group.verdict ?
		       compare(x->group.verdict, y->group.verdict) :
		       compare(x->family, y->family);
}

/* Of a family, what has a site comes first: it has a name. */
static int by_weight(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->group.verdict != y->group.verdict)
		return compare(x->group.verdict, y->group.verdict);
	if (x->weight != y->weight)
		return compare(y->weight, x->weight);
	if (x->family != y->family)
		return compare(x->family, y->family);
	if (!x->group.site != !y->group.site)
		return x->group.site ? -1 : 1;
	return weight_of(&x->group) != weight_of(&y->group) ?
		       compare(weight_of(&y->group), weight_of(&x->group)) :
		       compare(x->group.count, y->group.count);
}

static void weigh_families(struct rank *rank, size_t count)
{
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		uint64_t weight = 0;

		for (end = i; end < count && by_family(&rank[i], &rank[end]) == 0; end++)
			weight += weight_of(&rank[end].group);
		for (size_t k = i; k < end; k++)
			rank[k].weight = weight;
	}
}

static int by_early_bytes(const void *a, const void *b)
{
	const struct leak_early *x = a, *y = b;

	return x->bytes != y->bytes ? compare(y->bytes, x->bytes) : compare(x->site, y->site);
}

void leak_report_sort(struct leak_report *report)
{
	struct rank *rank = calloc(report->group_count + 1, sizeof(*rank));

	if (report->early_count)
		qsort(report->early, report->early_count, sizeof(*report->early), by_early_bytes);
	if (!rank)
		return;
	for (size_t i = 0; i < report->group_count; i++) {
		const struct leak_group *group = &report->group[i];
		uint32_t site = group->site ? group->site : group->likely_site;

		rank[i].group = *group;
		rank[i].family = site ? site : UINT32_MAX + 1ull + i;
	}
	qsort(rank, report->group_count, sizeof(*rank), by_family);
	weigh_families(rank, report->group_count);
	qsort(rank, report->group_count, sizeof(*rank), by_weight);
	for (size_t i = 0; i < report->group_count; i++)
		report->group[i] = rank[i].group;
	free(rank);
}
