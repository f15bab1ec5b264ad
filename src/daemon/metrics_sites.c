/* SPDX-License-Identifier: MIT */
/* metrics_sites.c - series of which a target has several: kinds of leaks, call paths. */
#include "src/daemon/metrics_private.h"

/* --- leaks ---------------------------------------------------------------- */

static double found_age(const struct figures_search *search, double now)
{
	return now > search->found_time ? now - search->found_time : 0;
}

static int put_age(FILE *out, const struct metrics *metrics)
{
	const char *name = "target_leak_search_age_seconds";
	int error = 0;

	metrics_put_head(out, name, GAUGE, "Since the search for leaks that found them.");
	for (size_t i = 0; !error && i < metrics->targets; i++) {
		const struct figures_search *search = &metrics->target[i].figures->search;

		if (!search->known)
			continue;
		error = metrics_put_target(out, name, &metrics->target[i]);
		fprintf(out, "} %.9g\n", found_age(search, metrics->now));
	}
	return error;
}

static int put_kinds(FILE *out, const char *name, const struct metrics_target *target, bool bytes)
{
	static const struct { enum screen_leak_kind kind; const char *label; } each[] = {
		{ SCREEN_DEFINITELY, "definitely" }, { SCREEN_INDIRECTLY, "indirectly" },
		{ SCREEN_POSSIBLY, "possibly" },
	};
	const struct screen_leaks *found = &target->figures->search.found;
	int error = 0;

	for (size_t k = 0; !error && k < ARRAY_SIZE(each); k++) {
		uint64_t number = bytes ? found->kind[each[k].kind].bytes :
					  found->kind[each[k].kind].count;

		error = metrics_put_target(out, name, target);
		fprintf(out, ",kind=\"%s\"} %llu\n", each[k].label,
			(unsigned long long)number);
	}
	return error;
}

int metrics_put_leaks(FILE *out, const struct metrics *metrics)
{
	static const struct { const char *name, *help; bool bytes; } family[] = {
		{ "target_lost_blocks", "Blocks that the last search for leaks found lost, by "
		  "kind.", false },
		{ "target_lost_bytes", "Their bytes.", true },
	};
	int error = put_age(out, metrics);

	for (size_t f = 0; f < ARRAY_SIZE(family); f++) {
		metrics_put_head(out, family[f].name, GAUGE, family[f].help);
		for (size_t i = 0; !error && i < metrics->targets; i++)
			if (metrics->target[i].figures->search.known)
				error = put_kinds(out, family[f].name, &metrics->target[i],
						  family[f].bytes);
	}
	return error;
}

/* --- call paths ----------------------------------------------------------- */

/* Those whose names are not known yet are left out: a series keeps its labels. */
static int put_site(FILE *out, const char *name, const struct metrics_target *target,
		    const struct top_site *top)
{
	int error = metrics_put_target(out, name, target);

	fprintf(out, ",site=\"%u\",", top->site.id);
	error = metrics_put_label(out, "function", top->function) ?: error;
	putc(',', out);
	return metrics_put_label(out, "place", top->place) ?: error;
}

static int put_family(FILE *out, const char *name, const struct metrics *metrics,
		      double (*value)(const struct screen_site *site))
{
	int error = 0;

	for (size_t i = 0; i < metrics->targets; i++) {
		const struct top_sites *top = &metrics->target[i].figures->top;

		for (uint32_t k = 0; !error && k < top->count && k < top->most; k++) {
			if (!top->now[k].named)
				continue;
			error = put_site(out, name, &metrics->target[i], &top->now[k]);
			fprintf(out, "} %.17g\n", value(&top->now[k].site));
		}
	}
	return error;
}

static double live_bytes(const struct screen_site *site)
{
	return (double)site->live_bytes;
}

static double live_blocks(const struct screen_site *site)
{
	return (double)site->live_count;
}

static double growth(const struct screen_site *site)
{
	return site->growing ? site->growth : 0;
}

int metrics_put_sites(FILE *out, const struct metrics *metrics)
{
	static const struct {
		const char *name, *help;
		double (*value)(const struct screen_site *site);
	} family[] = {
		{ "site_live_bytes", "Live bytes of the call paths that hold most, estimated.",
		  live_bytes },
		{ "site_live_blocks", "Their blocks, estimated.", live_blocks },
		{ "site_growth_bytes_per_second", "Their growth; 0: it may be chance.", growth },
	};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(family); i++) {
		metrics_put_head(out, family[i].name, GAUGE, family[i].help);
		error = put_family(out, family[i].name, metrics, family[i].value);
	}
	return error;
}
