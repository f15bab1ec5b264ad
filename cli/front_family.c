/* SPDX-License-Identifier: MIT */
/*
 * front_family.c - see front_family.h.
 *
 * One listing of /proc and one file for each new process, whatever a target has of threads; to read
 * /proc/PID/task/TID/children of all of them was rejected for that, and because a kernel may be
 * without it. The kernel's connector, which tells of every fork, needs a right that
 * memattach does without otherwise.
 */
#include "cli/front_family.h"

int family_begin(struct family *family)
{
	const struct process_search search = process_search_here();

	*family = (struct family){ .known = { 0 } };
	return process_find_all(&search, &family->known);
}

static bool is_of(const struct family *family, const struct process_set *members, pid_t parent)
{
	return parent > 0 && (process_set_has(members, parent) ||
			      process_set_has(&family->children, parent) ||
			      process_set_has(&family->ready, parent));
}

/* Those that were new at the last look: ready, or to be looked at again, or gone. */
static int sort_children(struct family *family, const struct process_search *search,
			 const struct process_set *now)
{
	struct process_set later = { 0 };
	int error = 0;

	for (size_t i = 0; !error && i < family->children.count; i++) {
		pid_t pid = family->children.pid[i];

		if (process_set_has(now, pid) && process_has_program(search, pid))
			error = process_set_add(process_tracer(search, pid) ? &later :
									&family->ready, pid);
	}
	process_set_done(&family->children);
	family->children = later;
	return error;
}

int family_look(struct family *family, const struct process_set *members)
{
	const struct process_search search = process_search_here();
	struct process_set now = { 0 };
	int error = process_find_all(&search, &now);

	process_set_done(&family->ready);
	if (!error)
		error = sort_children(family, &search, &now);
	for (size_t i = 0; !error && i < now.count; i++)
		if (!process_set_has(&family->known, now.pid[i]) &&
		    is_of(family, members, process_parent(&search, now.pid[i])))
			error = process_set_add(&family->children, now.pid[i]);
	process_set_done(&family->known);
	family->known = now;
	return error;
}

void family_done(struct family *family)
{
	process_set_done(&family->known);
	process_set_done(&family->children);
	process_set_done(&family->ready);
}
