/* SPDX-License-Identifier: MIT */
/*
 * recorded_candidates.c - see recorded_candidates.h.
 *
 * Whether a pointer still leads to the blocks is not known here: what is stuck may as well be lost.
 * A recording that was ended by force is judged as of its last lifetimes, a tenth of the
 * session before at the most, but for growth, which is that of its last interval.
 */
#include "src/recording/recorded_candidates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NS 1e9

static void add_living(struct suspect *suspect, const struct site_life *life, double weight)
{
	double part = life->seconds * NS / SITE_LIVES_PARTS;

	for (unsigned int i = 0; i < SITE_LIVES_PARTS; i++) {
		uint64_t born = (uint64_t)(part * (i + 1));

		if (born > suspect->window.now)	/* rounding */
			born = suspect->window.now;
		if (life->born[i])
			suspect_add(suspect, born, life->born[i], weight);
	}
}

bool recording_suspect(const struct recording_content *content, size_t at,
		       const struct suspect_past *past, struct suspect_finding *ret)
{
	const struct snapshot_site *site = &content->snapshot->site[at];
	const struct site_life *life = site_lives_find(content->lives, site->id);
	const struct survival_window window = {
		.now = (uint64_t)(content->lives->seconds * NS), .hz = NS,
	};
	enum trend_verdict trend = TREND_UNKNOWN;
	uint64_t living = life ? site_life_living(life) : 0;
	struct suspect suspect;

	if (!life || site->kind == SITE_MMAP || (!living && !(life->freed.total > 0)))
		return false;
	if (content->trend)
		trend = trend_judge(&content->trend[at], content->looks);
	suspect_begin(&suspect, &window, &life->freed, past);
	if (living)
		add_living(&suspect, life, (double)site->live_count / (double)living);
	*ret = suspect_end(&suspect, site->verdict == SNAPSHOT_GROWING, trend);
	return true;
}

static int add_site(const struct recording_content *content, size_t at,
		    struct leak_report *report)
{
	const struct snapshot_site *site = &content->snapshot->site[at];
	const struct site_life *life = site_lives_find(content->lives, site->id);
	struct suspect_finding finding;
	struct leak_group group = {
		.site = site->id, .count = site->live_count, .bytes = site->live_bytes,
		.growth = site->growth * 3600,
		.oldest = life ? content->lives->seconds - life->oldest : NAN,
	};

	if (!site->live_count || !recording_suspect(content, at, NULL, &finding))
		return 0;
	if (finding.verdict == SURVIVAL_EARLY)
		return leak_report_add_early(report, &(struct leak_early){
			.site = site->id, .count = site->live_count, .bytes = site->live_bytes,
			.longest = finding.longest, .needs = finding.needs });
	group.verdict = suspect_verdict(finding.verdict);
	return group.verdict == LEAK_REACHABLE ? 0 : leak_report_add(report, &group);
}

int recording_suspects(const struct recording_content *content, struct leak_report **ret)
{
	struct leak_report *report = NULL;
	int error = leak_report_new(&report);

	if (error)
		return error;
	report->unsearched = true;
	report->watched = content->lives->seconds;
	report->looks = content->looks;
	for (size_t i = 0; !error && i < content->snapshot->site_count; i++)
		error = add_site(content, i, report);
	if (error) {
		leak_report_free(report);
		return error;
	}
	leak_report_sort(report);
	*ret = report;
	return 0;
}
