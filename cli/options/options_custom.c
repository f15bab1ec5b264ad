/* SPDX-License-Identifier: MIT */
/* options_custom.c - functions of the program's own: --alloc-fn, --realloc-fn, --free-fn. */
#include "cli/options/options.h"

#include <string.h>

#include "src/base/log.h"

int options_add_custom(struct cli_options *o, const char *option, enum ring_shape shape,
		       const char *value)
{
	struct custom_functions *all = &o->session.custom;
	const char *wrong;

	if (all->count == CUSTOM_MAX_FUNCTIONS) {
		log_error("%s %s: %u functions can be watched at the most; leave some out",
			  option, value, CUSTOM_MAX_FUNCTIONS);
		return SESSION_USAGE;
	}
	wrong = custom_function_parse(shape, value, &all->function[all->count]);
	if (wrong) {
		log_error("%s %s: %s; see `memattach help attach`", option, value, wrong);
		return SESSION_USAGE;
	}
	for (uint32_t i = 0; i < all->count; i++) {
		if (strcmp(all->function[i].name, all->function[all->count].name) == 0) {
			log_error("%s %s: this function is given twice; give it once", option,
				  value);
			return SESSION_USAGE;
		}
	}
	all->count++;
	return SESSION_OK;
}

int options_check_custom(const struct session_options *s)
{
	bool gives = false, takes = false;

	for (uint32_t i = 0; i < s->custom.count; i++) {
		gives |= s->custom.function[i].shape != RING_SHAPE_CUSTOM_FREE;
		takes |= s->custom.function[i].shape != RING_SHAPE_CUSTOM_ALLOC;
	}
	if (s->custom.count == 0)
		return SESSION_OK;
	if (s->counts)
		log_error("--counts counts by the usable sizes of blocks, which nobody knows of a "
			  "program's own: it does not go with --alloc-fn and its like");
	else if (s->duration == 0)
		log_error("--alloc-fn and its like are watched: they don't go with -d 0");
	else if (takes && !gives)
		log_error("--free-fn gives back what --alloc-fn gave: name that function, too");
	else
		return SESSION_OK;
	return SESSION_USAGE;
}
