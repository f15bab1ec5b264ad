/* SPDX-License-Identifier: MIT */
/*
 * refusal.c - see refusal.h.
 *
 * To watch, an allocator must be hooked, which needs its names. A leak report with no watch needs
 * none: heaps are found by their structure. It does borrow a thread, to make a copy of the target,
 * for which two places in the target's code are needed: a system call that returns, and a return
 * from a signal handler, so that the thread finds back should we die meanwhile. With
 * --snapshot=stop it needs nothing at all. Rejected: to go without the second place, or to
 * write it into the target.
 */
#include "src/session/refusal.h"

#include <stdio.h>
#include <string.h>

#include "src/session/memory.h"

bool session_is_picture_only(const struct session_options *options)
{
	return options->task == SESSION_WATCH && options->duration == 0 &&
	       (session_memory_wants_heaps(options) || view_needs(options->view));
}

static bool has_allocator(const struct hook_plan *plan)
{
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->family[plan->entry[i].family].kind != HOOK_FAMILY_LOADER)
			return true;
	return false;
}

static bool refuse_no_allocator(const struct hook_plan *plan, const char *remedy,
				struct session_refusal *ret)
{
	ret->reason = plan->skipped_count ? plan->skipped[0] :
					    "the target has no allocator that memattach knows";
	ret->remedy = remedy;
	return true;
}

static bool is_planned(const struct hook_plan *plan, const struct custom_function *function)
{
	for (uint32_t i = 0; i < plan->entry_count; i++) {
		const struct hook_entry *e = &plan->entry[i];

		if (plan->family[e->family].kind == HOOK_FAMILY_CUSTOM &&
		    strncmp(e->name, function->name, sizeof(e->name) - 1) == 0)
			return true;
	}
	return false;
}

/* Why it was left alone, "NAME (MODULE): reason"; NULL: it was not found. */
static const char *why_skipped(const struct hook_plan *plan, const char *name)
{
	char begin[HOOK_NAME_BYTES + 2];
	int length = snprintf(begin, sizeof(begin), "%.*s (", HOOK_NAME_BYTES - 1, name);

	for (uint32_t i = 0; i < plan->skipped_count; i++)
		if (strncmp(plan->skipped[i], begin, (size_t)length) == 0)
			return plan->skipped[i];
	return NULL;
}

bool session_refusal_custom(const struct hook_plan *plan,
			    const struct custom_functions *custom, struct session_refusal *ret)
{
	for (uint32_t i = 0; i < custom->count; i++) {
		const char *name = custom->function[i].name;

		if (is_planned(plan, &custom->function[i]))
			continue;
		ret->reason = why_skipped(plan, name);
		ret->remedy = "name the function that it calls in its place, or leave it out "
			      "(docs/CUSTOM.md)";
		if (ret->reason)
			return true;
		(void)snprintf(ret->text, sizeof(ret->text),
			       "the target has no function %s, or it is hooked already", name);
		ret->reason = ret->text;
		ret->remedy = "name it as `nm` does, mangled and without a version; one that only "
			      "a library's file names by its address in the target (0x...)";
		return true;
	}
	return false;
}

bool session_refusal_of(const struct hook_plan *plan, const struct session_options *options,
			struct session_refusal *ret)
{
	bool picture_only = session_is_picture_only(options);

	if (session_refusal_custom(plan, &options->custom, ret))
		return true;
	if (!picture_only && !has_allocator(plan))
		return refuse_no_allocator(plan, "see `memattach check -p PID` for what was found "
					   "(Go programs and stripped static programs bring their "
					   "own; in the latter --leaks -d 0 can find leaks)", ret);
	if ((plan->gadget_syscall_ret && plan->gadget_restorer) ||
	    (picture_only && (options->stop_for_picture || !session_memory_wants_heaps(options))))
		return false;
	ret->reason = plan->gadget_syscall_ret ?
			      "the target's code has nothing that returns from a signal handler, "
			      "which a borrowed thread must be able to" :
			      "the target's code has no system call instruction to borrow";
	ret->remedy = picture_only ? "--snapshot=stop reads it while it stands still" :
				     "only --leaks -d 0 --snapshot=stop does without";
	return true;
}

bool session_refusal_no_heap(const struct hook_plan *plan, struct session_refusal *ret)
{
	return !has_allocator(plan) &&
	       refuse_no_allocator(plan, "nor does its memory hold a heap that can be walked", ret);
}
