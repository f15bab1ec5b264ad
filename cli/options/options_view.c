/* SPDX-License-Identifier: MIT */
/* options_view.c - see options_view.h. */
#include "cli/options/options_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/quantity.h"

#define NAMES_BYTES 400u

const char *options_view_names(void)
{
	static char names[NAMES_BYTES];
	size_t length = 0;

	if (names[0])
		return names;
	for (const struct view *view = view_table(); view->name; view++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   length ? ", " : "", view->name);
	return names;
}

static int set_view(struct cli_options *o, const char *value)
{
	o->session.view = view_find(value);
	o->session.leaks_alone = strcmp(value, "leaks") == 0;
	o->session.leaks |= o->session.leaks_alone;
	o->session.heaps |= (view_needs(o->session.view) & VIEW_NEEDS_HEAPS) != 0;
	if (o->session.view || o->session.leaks_alone)
		return SESSION_OK;
	log_error("--view: there is no view '%s'; there are %s, leaks", value,
		  options_view_names());
	return SESSION_USAGE;
}

static int set_metric(struct view_options *v, const char *value)
{
	v->metric_given = view_metric_find(value, &v->metric);
	return v->metric_given ? SESSION_OK :
		options_bad("--by", value,
			    "live, live-count, bytes, calls, frees, peak or temporary");
}

static int set_depth(struct view_options *v, const char *value)
{
	uint64_t depth;

	if (quantity_size(value, &depth) || depth == 0 || depth > 1u << 20)
		return options_bad("--depth", value, "a number of frames of at least 1");
	v->depth = (uint32_t)depth;
	return SESSION_OK;
}

static int set_threshold(struct view_options *v, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end != value && *end == '%')
		end++;
	if (end == value || *end || !(percent >= 0 && percent <= 100))
		return options_bad("--threshold", value, "a percentage from 0 to 100");
	v->threshold = percent;
	v->threshold_given = true;
	return SESSION_OK;
}

/* ret: which of the two words value is. */
static int set_word(const char *option, const char *value, const char *no, const char *yes,
		    bool *ret)
{
	char wanted[64];

	*ret = strcmp(value, yes) == 0;
	if (*ret || strcmp(value, no) == 0)
		return SESSION_OK;
	(void)snprintf(wanted, sizeof(wanted), "%s or %s", no, yes);
	return options_bad(option, value, wanted);
}

static int set_site(struct view_filter *filter, const char *value)
{
	uint64_t site;

	if (quantity_size(value, &site) || site == 0 || site > UINT32_MAX)
		return options_bad("--site", value, "a site's number as a report has it");
	filter->site = (uint32_t)site;
	return SESSION_OK;
}

/* N or N-M */
static int set_size(struct view_filter *filter, const char *value)
{
	_cleanup_free_ char *low = strdup(value);
	char *high = low ? strchr(low, '-') : NULL;

	if (high)
		*high++ = '\0';
	if (!low || quantity_size(low, &filter->size_low) ||
	    quantity_size(high ? high : low, &filter->size_high) ||
	    filter->size_low > filter->size_high || filter->size_high == 0)
		return options_bad("--size", value, "a size or a range of them: 64, 1K-4K");
	return SESSION_OK;
}

static int set_thread(struct view_filter *filter, const char *value)
{
	if (!value[0])
		return options_bad("--thread", value, "a thread's number, id or name as the view "
				   "threads has it");
	filter->thread = value;
	return SESSION_OK;
}

static int set_module(struct view_filter *filter, const char *value)
{
	if (!value[0])
		return options_bad("--module", value, "a program's or library's name");
	filter->module = value;
	return SESSION_OK;
}

/* They go with all that shows names, views or not. */
static int set_names(struct name_shape *names, int option, const char *value)
{
	bool inlined = true;
	int status;

	if (option == OPT_INLINE) {
		status = set_word("--inline", value, "no", "yes", &inlined);
		names->no_inlined = !inlined;
		return status;
	}
	names->function_only |= option == OPT_JUST_FUNCTION;
	names->shorten_templates |= option == OPT_SHORTEN_TEMPLATES;
	return SESSION_OK;
}

int options_view_set(struct cli_options *o, int option, const char *value)
{
	struct view_options *v = &o->session.view_options;

	if (option == OPT_VIEW)
		return set_view(o, value);
	if (option == OPT_INLINE || option == OPT_JUST_FUNCTION || option == OPT_SHORTEN_TEMPLATES)
		return set_names(&o->session.names, option, value);
	o->view_shaped = true;
	switch (option) {
	case OPT_BY: return set_metric(v, value);
	case OPT_REVERSE: v->reverse = true; return SESSION_OK;
	case OPT_DEPTH: return set_depth(v, value);
	case OPT_THRESHOLD: return set_threshold(v, value);
	case OPT_FLAME_USE_SIZE: v->use_size = true; return SESSION_OK;
	case OPT_TIME_UNIT: return set_word("--time-unit", value, "s", "B", &v->time_in_bytes);
	case OPT_SIZES: return set_word("--sizes", value, "powers", "exact", &v->exact_sizes);
	case OPT_SITE: return set_site(&v->filter, value);
	case OPT_SIZE: return set_size(&v->filter, value);
	case OPT_THREAD: return set_thread(&v->filter, value);
	case OPT_MODULE: return set_module(&v->filter, value);
	default: return SESSION_USAGE;
	}
}

static bool is_one_of(const char *name, const char *const view[2])
{
	return strcmp(name, view[0]) == 0 || (view[1] && strcmp(name, view[1]) == 0);
}

/* Options that some views alone look at, given for another: an effect that there is not. */
static int check_heeded(const struct session_options *s)
{
	const struct view_options *v = &s->view_options;
	const struct {
		const char *name;
		bool given;
		const char *view[2];
	} option[] = {
		{ "reverse", v->reverse, { "tree", "flame" } },
		{ "threshold", v->threshold_given, { "tree", "source" } },
		{ "flame-use-size", v->use_size, { "flame" } },
		{ "time-unit=B", v->time_in_bytes, { "timeline" } },
		{ "sizes=exact", v->exact_sizes, { "histogram" } },
	};

	for (size_t i = 0; s->view && i < ARRAY_SIZE(option); i++) {
		if (!option[i].given || is_one_of(s->view->name, option[i].view))
			continue;
		log_error("the view %s takes no --%s: that is for %s%s%s", s->view->name,
			  option[i].name, option[i].view[0], option[i].view[1] ? " and " : "",
			  option[i].view[1] ? option[i].view[1] : "");
		return SESSION_USAGE;
	}
	return SESSION_OK;
}

int options_check_view(const struct cli_options *o)
{
	const struct session_options *s = &o->session;
	bool temporary = s->view && (strcmp(s->view->name, "temporary") == 0 ||
				     (s->view_options.metric_given &&
				      s->view_options.metric == VIEW_TEMPORARY));

	if (o->view_shaped && !s->view) {
		log_error("--by, --depth, --site and the like shape a view or a log of calls: "
			  "they go with --view=NAME, `memattach report FILE VIEW` or "
			  "`memattach trace`");
		return SESSION_USAGE;
	}
	if (temporary && s->mode == SNAPSHOT_SAMPLED) {
		log_error("--sample does not tell which blocks are temporary: use --exact");
		return SESSION_USAGE;
	}
	return check_heeded(s);
}
