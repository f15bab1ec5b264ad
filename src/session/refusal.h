/* SPDX-License-Identifier: MIT */
/* refusal.h - what a target must have for what was asked for, and what to say if not. */
#ifndef MEMATTACH_SESSION_REFUSAL_H
#define MEMATTACH_SESSION_REFUSAL_H

#include "inject/attach/hook_plan.h"
#include "src/session/session.h"

/* For one line: "reason; remedy". Both are the plan's, constants, or text. */
struct session_refusal {
	const char *reason, *remedy;
	char text[160];
};

/* True where a report of what lies in memory is all that is wanted: nothing is hooked for it. */
bool session_is_picture_only(const struct session_options *options);

/* True, and *ret, where the plan has not what the options need. */
bool session_refusal_of(const struct hook_plan *plan, const struct session_options *options,
			struct session_refusal *ret) _must_check_;

/*
 * True, and *ret, where a function that the user has named is not in the plan: without it the
 * figures would mislead.
 */
bool session_refusal_custom(const struct hook_plan *plan,
			    const struct custom_functions *custom,
			    struct session_refusal *ret) _must_check_;

/* After a search that found no heap: true, and *ret, if the plan has no allocator either. */
bool session_refusal_no_heap(const struct hook_plan *plan,
			     struct session_refusal *ret) _must_check_;

#endif
