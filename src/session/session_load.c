/* SPDX-License-Identifier: MIT */
/*
 * session_load.c - PLANNED -> LOADED: the shim's way into the target, by one loader or the other.
 */
#include <errno.h>
#include <stdio.h>

#include "src/base/give_back.h"
#include "src/base/log.h"
#include "src/session/safe_thread.h"
#include "src/session/session.h"
#include "src/session/state.h"

/* Some tries need seconds each: where no thread of the target can be entered. */
#define LOAD_SECONDS 20.0
enum { LOAD_TRIES = 40, CLOSED_DLOPEN = 3, PROOF_PAUSE_MS = 20, FIRST_CLEARANCE = 2 << 20 };

static int try_load(struct session *s, enum attachment_loader loader)
{
	static struct proto_load load;
	int error;

	load = (struct proto_load){
		.loader = loader, .recognise = session_recognises(s), .counts = s->options->counts,
		.sampled = s->options->mode != SNAPSHOT_EXACT && !s->options->counts,
		.ring_total_bytes = s->options->ring_bytes, .seed = s->options->seed,
		.plan = s->plan,
	};
	error = keeper_link_call(&s->link, PROTO_LOAD, NULL, &load, sizeof(load));
	give_back_buffer(&load, sizeof(load));
	s->shim_base = s->link.reply.value[0];
	s->loader = loader;
	if (error && error != -EPIPE && s->link.reply.value[1])
		s->state = STATE_LOADED;	/* half of it is in and must come out */
	if (error)
		return error;
	s->ring_fd = keeper_link_take_fd(&s->link, 0);
	return 0;
}

/* What the target may not do at this moment, and what can be done about it: the ring is a file. */
static bool is_limit(int error)
{
	if (error == -EFBIG)
		log_error("the limit on the size of files (ulimit -f) is below the ring's size; "
			  "raise it, or use a smaller --ring-size");
	else if (error == -EMFILE)
		log_error("the target, or memattach, has reached its limit on open files "
			  "(ulimit -n); raise it with prlimit --nofile, or try again later");
	else if (error == -ENFILE)
		log_error("the machine's limit on open files is reached; raise fs.file-max "
			  "(sysctl)");
	else
		return false;
	return true;
}

/* A thread of the target has closed the descriptor that our memory was to be mapped by. */
static bool was_closed(int error)
{
	return error == -EBADF || error == -ELIBACC;
}

static void say_closed(const struct session *s, int error)
{
	bool by_map = s->loader == LOADER_MAP;

	if (error == -EBADF)
		log_error("a thread of the target closes descriptors that it did not open, those "
			  "of memattach's memory among them; nothing was left; %s",
			  by_map ? "try again" : "use --loader=auto or --loader=map");
	else
		log_error("the target's dlopen could not load the hooks: it has no memory for "
			  "them, or a thread closes descriptors that it did not open; use "
			  "--loader=auto or --loader=map");
}

/* What dlopen would wait for can't be told of it: where it waits with its lock held. */
static bool has_unknown_allocator(const struct hook_plan *plan)
{
	for (uint32_t i = 0; i < plan->family_count; i++)
		if (hook_plan_is_unknown(&plan->family[i]))
			return true;
	return false;
}

/* Is it by map from now on? With --loader=auto after a quarter of the tries, or of the time. */
static bool is_by_map(const struct session *s, int tries, double seconds)
{
	if (s->options->loader == LOADER_MAP)
		return true;
	if (s->options->task == SESSION_RUN)
		return s->map_only || tries > 0 || !s->view.hello.sees_proc;
	return s->options->loader == LOADER_AUTO &&
	       (s->closed > 0 || tries >= LOAD_TRIES / 4 || seconds >= LOAD_SECONDS / 4 ||
		!s->view.hello.sees_proc || has_unknown_allocator(&s->plan));
}

/*
 * Somebody was faster: elsewhere, and farther from where the kernel would put the next mapping,
 * which is as close to others as it can.
 */
static int find_other_places(struct session *s)
{
	uint64_t wider = s->plan.clearance ? s->plan.clearance * 4 : FIRST_CLEARANCE;

	s->clearance = wider < HOOK_MAX_CLEARANCE ? wider : HOOK_MAX_CLEARANCE;
	return target_view_refresh(&s->view) >= 0 ? session_plan(s, s->map_only) : 0;
}

/*
 * A descriptor that is closed, and its number used for another file, while dlopen reads from it
 * would have it load that: once is a sign, so dlopen is not asked often.
 */
static bool may_try(const struct session *s, int error)
{
	if (!was_closed(error))
		return session_may_try_again(error);
	return s->options->loader != LOADER_DLOPEN || s->closed < CLOSED_DLOPEN;
}

/* By dlopen as long as a proof is had, then by map if that is allowed. */
int session_load(struct session *s)
{
	double begun = session_now();
	char why[128] = "";
	int error = -EAGAIN, proof = 0;

	if (s->options->loader == LOADER_DLOPEN && !s->view.hello.sees_proc) {
		log_error("the target sees no /proc, where its dlopen would find the hooks; use "
			  "--loader=auto or --loader=map");
		s->exit = SESSION_REFUSED;
		return -ENOTSUP;
	}
	for (int i = 0; i < LOAD_TRIES && may_try(s, error); i++) {
		double seconds = session_now() - begun;
		bool by_map = is_by_map(s, i, seconds);

		if (i && seconds >= LOAD_SECONDS)
			break;
		proof = by_map ? 0 : s->options->task == SESSION_RUN ? 1 :
			session_prove_thread(s, i >= SESSION_KEEP_AFTER, why);
		if (proof < 0)
			return session_fail(s, SESSION_FAILED, "looking for a thread", proof);
		if (!proof && !by_map && s->options->loader == LOADER_DLOPEN) {
			/* the one that may do it could be just about to wait */
			if (keeper_link_poll(&s->link, i < SESSION_KEEP_AFTER ? 1 : PROOF_PAUSE_MS))
				return -EPIPE;
			error = -EAGAIN;
			continue;
		}
		error = try_load(s, proof ? LOADER_DLOPEN : LOADER_MAP);
		s->closed += was_closed(error);
		if (error == -ENOTSUP && proof) {	/* of that thread's stack */
			if (s->options->task != SESSION_RUN)
				safe_thread_is_unfit(&s->threads);
			error = -EAGAIN;
		}
		if (error == -EEXIST && s->state == STATE_PLANNED && find_other_places(s))
			return -EIO;
		if (s->state == STATE_LOADED || s->link.target_gone || s->link.stop_wanted)
			break;
	}
	if (error && !proof && s->options->loader == LOADER_DLOPEN) {
		log_error("no thread may call dlopen: %s; use --loader=auto or --loader=map", why);
		s->exit = SESSION_REFUSED;
		return -ENOTSUP;
	}
	if (error && s->state != STATE_LOADED && (is_limit(error) || was_closed(error))) {
		if (was_closed(error))
			say_closed(s, error);
		s->exit = SESSION_REFUSED;
		return error;
	}
	if (error)	/* what another try may change has one status, however far it came */
		return session_fail(s, s->state == STATE_LOADED && !session_may_try_again(error) ?
				       SESSION_FAILED : SESSION_REFUSED,
				    "can't enter the target", error);
	s->state = STATE_LOADED;
	return 0;
}
