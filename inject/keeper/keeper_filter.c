/* SPDX-License-Identifier: MIT */
/* keeper_filter.c - what the target's own system call filters let memattach do in there. */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "inject/keeper/filter_helper.h"

/* A call that the target's own filter refuses could kill it. */
static int refuse_call(struct keeper *k, long call)
{
	if (call < 0)
		(void)snprintf(k->in.problem, sizeof(k->in.problem),
			       "its system call filter (seccomp) can't be read (memattach-filters: "
			       "%s); run memattach as root and outside of any filter, or start "
			       "memattach-filters.socket", k->filter_error ?
			       strerror(-k->filter_error) : "nor can that");
	else
		(void)snprintf(
			k->in.problem, sizeof(k->in.problem),
			"its system call filter (seccomp) refuses call %ld, which memattach needs; "
			"let it pass (systemd: SystemCallFilter=), or use leaks --snapshot=stop",
			call);
	return -EACCES;
}

static int refuse_dl(struct keeper *k, const char *needs)
{
	(void)snprintf(k->in.problem, sizeof(k->in.problem),
		       "its system call filter (seccomp) may refuse what %s", needs);
	return -EACCES;
}

int keeper_check_filter(struct keeper *k, uint32_t loader)
{
	if (!k->seccomp.allowed)
		return refuse_call(k, k->seccomp.refused);
	return k->seccomp.filtered && loader != LOADER_MAP ?
		       refuse_dl(k, "dlopen needs; use --loader=map") : 0;
}

/* A filter that may not be read here may be readable for the helper, if there is one. */
void keeper_read_filters(struct keeper *k)
{
	k->seccomp = seccomp_check(k->in.at.target.ref.pid);
	k->filter_error = 0;
	if (k->seccomp.refused < 0)
		k->filter_error = filter_helper_ask(FILTER_HELPER_PATH, &k->in.at.target.ref,
						    &k->seccomp);
	attachment_note_stop(&k->in.at, k->seccomp.held_us, k->seccomp.filtered);
}

/*
 * On the way out: it may have got a filter since, or this is a cleanup. Unmapping needs less than
 * mapping does; what a dlclose calls is the libc's secret.
 */
int keeper_check_filter_again(struct keeper *k)
{
	const struct attachment *a = &k->in.at;

	if (!seccomp_check_holds(&k->seccomp, a->target.ref.pid))
		keeper_read_filters(k);
	if (!k->seccomp.filtered)
		return 0;
	if (!k->seccomp.may_leave)
		return refuse_call(k, k->seccomp.refused_leaving);
	if ((a->remote_fd[0] >= 0 || a->remote_fd[1] >= 0) && !k->seccomp.may_close)
		return refuse_call(k, SYS_close);
	if (a->loader == LOADER_MAP || !a->shim_base || k->seccomp.may_dlclose)
		return 0;
	return refuse_dl(k, "dlclose needs (what is left does nothing, and goes with the process)");
}
