/* SPDX-License-Identifier: MIT */
/* common.c - what entering and leaving a target have in common. */
#include "src/base/why.h"
#include "src/session/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/load.h"
#include "src/base/log.h"
#include "src/elf/link_map.h"
#include "src/session/safe_thread.h"

enum { PROOF_TRIES = 5, GONE_MS = 100 };

double session_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What is in the target's place now has other memory, or none. */
static bool is_another(int error)
{
	return error == -ESTALE || error == -EFAULT;
}

static const char *reason_of(const struct session *s, const char *why)
{
	return s->link.reply.text[0] ? s->link.reply.text : why;
}

bool session_has_ended(struct session *s)
{
	/* until its picture is given back it may stand still (--snapshot=stop) */
	int wait_ms = s->leaks.taken ? 0 : GONE_MS;

	if (s->link.target_gone)
		return true;
	return !s->link.busy && keeper_link_poll(&s->link, wait_ms) == 0 && s->link.target_gone;
}

int session_fail(struct session *s, int status, const char *what, int error)
{
	bool ended = status != SESSION_DORMANT && session_has_ended(s);
	struct why why = why_of(error);
	const char *reason = !ended ? reason_of(s, why.text) :
			     s->link.target_execed ? "it became another program (exec)" :
						     "it has ended";

	if (ended)
		status = SESSION_TARGET_ENDED;
	if (s->options->quiet)
		log_debug("%s: %s", what, reason);
	else if (s->view.hello.pid)
		log_error("process %d: %s: %s", s->view.hello.pid, what, reason);
	else
		log_error("%s: %s", what, reason);
	if (s->exit == SESSION_OK)
		s->exit = !ended && is_another(error) ? SESSION_REFUSED : status;
	return error ? error : -EIO;
}

int session_prove_thread(struct session *s, bool keep, char why[128])
{
	/* On the way in there is another loader for those that never wait. */
	bool running = s->state == STATE_UNHOOKED;
	struct safe_thread_input input = { &s->view, s->unwinder, &s->plan, keep, running,
					   !running, &s->threads };
	int error = -ENOENT;

	(void)snprintf(why, 128, "the target has no dlopen");
	if (!s->plan.dlopen || !s->plan.dlclose)
		return 0;
	if (s->view.hello.filtered) {
		(void)snprintf(why, 128, "the target has a system call filter (seccomp)");
		return 0;
	}
	for (int i = 0; i < PROOF_TRIES && error == -ENOENT; i++)
		error = safe_thread_find(&input, why);
	if (error)
		log_debug("no thread is safe for dlopen: %s", why);
	return error == -ENOENT ? 0 : error ? error : 1;
}

bool session_may_try_again(int error)
{
	return error == -EAGAIN || error == -ESTALE || error == -EEXIST || error == -ETIME;
}

/*
 * Is the file that is mapped at base the shim's? Who failed on the way in was not told where it is.
 */
static bool is_shim_at(const struct session *s, uint64_t base)
{
	const struct procmap *map;

	if (s->shim_base)
		return base == s->shim_base;
	map = procmaps_find(&s->view.maps, base);
	return map && map->start == base && map->offset == 0 &&
	       memfd_path_is(map->path, MEMFD_SHIM_PATH);
}

uint64_t session_dl_handle(struct session *s)
{
	struct link_map_input input = { .reader = &s->view.reader, .maps = &s->view.maps };
	struct link_map_list list = { .count = 0 };
	uint64_t handle = 0;

	if (s->loader != LOADER_DLOPEN)
		return 0;
	link_map_parse_auxv(s->view.hello.auxv, s->view.hello.auxv_bytes, &input.auxv);
	if (link_map_read(&input, &list) == 0)
		for (size_t i = 0; i < list.count; i++)
			if (is_shim_at(s, list.module[i].bias))
				handle = list.module[i].handle;
	link_map_done(&list);
	return handle;
}

void session_note_stops(struct session *s, bool attach)
{
	struct proto_status status;

	if (keeper_link_call(&s->link, PROTO_STATUS, NULL, NULL, 0) ||
	    s->link.reply.payload_bytes != sizeof(status))
		return;
	memcpy(&status, s->link.payload, sizeof(status));
	session_report_stops(&s->report, attach, status.stop_us_max, status.threads_stopped);
}
