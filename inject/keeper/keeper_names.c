/* SPDX-License-Identifier: MIT */
/*
 * keeper_names.c - the request for names of threads. It only reads what everybody may.
 *
 * The analyst knows ids as the target sees them, from libc's control blocks. In a pid namespace of
 * its own these are other numbers than ours: then threads are gone through, some of them.
 */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/tracee/proc_status.h"

#define MAX_LOOKED_AT 1024	/* threads in a namespace of their own: a tenth of a second */

static void set_name(struct proto_name *to, const struct proc_thread_status *status)
{
	(void)snprintf(to->name, sizeof(to->name), "%.*s", (int)sizeof(to->name) - 1,
		       status->name);
}

static void name_directly(pid_t pid, const uint32_t *tid, size_t count, struct proto_name *name)
{
	struct proc_thread_status status;

	for (size_t i = 0; i < count; i++)
		if (proc_read_thread_status(pid, (pid_t)tid[i], &status) == 0)
			set_name(&name[i], &status);
}

static void name_by_namespace(pid_t pid, const uint32_t *tid, size_t count,
			      struct proto_name *name)
{
	_cleanup_free_ pid_t *all = NULL;
	int threads = proc_list_threads(pid, &all);
	struct proc_thread_status status;

	for (int t = 0; t < threads && t < MAX_LOOKED_AT; t++) {
		if (proc_read_thread_status(pid, all[t], &status) < 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if ((pid_t)tid[i] == status.ns_pid)
				set_name(&name[i], &status);
	}
}

int keeper_on_thread_names(struct keeper *k, const struct proto_message *request,
			   struct reply *reply)
{
	static struct proto_name name[PROTO_MAX_NAMES];
	const struct pidref *target = &k->in.at.target.ref;
	uint32_t tid[PROTO_MAX_NAMES];
	size_t count = request->payload_bytes / sizeof(*tid);
	struct proc_thread_status leader;
	int error = proc_read_status(target->pid, &leader);

	if (count > PROTO_MAX_NAMES)
		return -EINVAL;
	if (error)
		return error;
	memcpy(tid, k->payload, count * sizeof(*tid));
	memset(name, 0, sizeof(name));
	if (leader.ns_levels == 1)
		name_directly(target->pid, tid, count, name);
	else
		name_by_namespace(target->pid, tid, count, name);
	if (!pidref_alive(target))
		return -ESRCH;
	reply->payload = name;
	reply->message.payload_bytes = (uint32_t)(count * sizeof(name[0]));
	return 0;
}
