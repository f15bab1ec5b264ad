/* SPDX-License-Identifier: MIT */
/*
 * suspect.h - the verdict on one site whose blocks nobody lost, by whatever is known of it: a
 * watch, a recording, or a watch and a recording from before it. The only place that judges.
 */
#ifndef MEMATTACH_LEAK_SUSPECT_H
#define MEMATTACH_LEAK_SUSPECT_H

#include "src/leak/candidates/survival.h"
#include "src/leak/candidates/trend.h"
#include "src/leak/findings/leak_report.h"
#include "src/live/site_lives.h"

/* What an earlier session of the same program saw of the site. */
struct suspect_past {
	double seconds;			/* that it watched */
	const struct site_life *life;	/* borrowed; NULL: nothing was allocated there */
	bool growing;			/* at its end */
};
/* One site; everything is filled in by suspect_begin. */
struct suspect {
	struct survival_window window;
	struct survival survival;
	struct lifetimes deaths;	/* of both sessions */
	const struct suspect_past *past;
	uint64_t count, early;		/* blocks; those born in the first half of the window */
	uint64_t past_old;		/* those of the past that are old */
};
struct suspect_finding {
	enum survival_verdict verdict;
	bool growing;			/* whatever the verdict */
	bool by_past;			/* this session alone would not say so */
	double needs;			/* too early: seconds to be watched at a stretch */
	double longest;			/* seconds that a freed block lived; 0: none was freed */
};

/*
 * window: begin, now and hz; the rest is set here. deaths: in its ticks. past: borrowed
 * until suspect_end, or NULL.
 */
void suspect_begin(struct suspect *suspect, const struct survival_window *window,
		   const struct lifetimes *deaths, const struct suspect_past *past);
/* count blocks (samples) that live, born at tick born; weight: what each stands for. */
void suspect_add(struct suspect *suspect, uint64_t born, uint64_t count, double weight);
/*
 * The verdict; the suspect is done with. grew: the site's live bytes surely grew, as the verdict
 * SNAPSHOT_GROWING says.
 */
struct suspect_finding suspect_end(struct suspect *suspect, bool grew, enum trend_verdict trend);
/* As a report has it; LEAK_REACHABLE for those that are no suspects. */
enum leak_verdict suspect_verdict(enum survival_verdict verdict);

#endif
