/* SPDX-License-Identifier: MIT */
/*
 * session.c - the state machine of one session.
 *
 * OPENED - PLANNED - LOADED - WATCHING - UNHOOKED - LEFT - REPORTED. Every way
 * out of a state after LOADED leads through UNHOOKED and LEFT, whatever went
 * wrong, so that the target is always left; the first failure decides the exit
 * status. What has been seen is reported in any case.
 */
#include "src/session/session.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/plan/hook_cost.h"
#include "src/plan/hook_planner.h"
#include "src/elf/link_map.h"
#include "inject/attach/shim_image.h"
#include "src/base/apart.h"
#include "src/base/give_back.h"
#include "src/base/log.h"
#include "src/session/intruder.h"
#include "src/sandbox/opener.h"
#include "src/session/pauses.h"
#include "src/session/safe_thread.h"
#include "src/sandbox/sandbox.h"
#include "src/session/session_preattach.h"
#include "src/session/session_picture.h"
#include "src/session/refusal.h"
#include "src/session/start.h"
#include "src/session/session_trace.h"
#include "src/session/state.h"
#include "src/sandbox/trapped.h"

#define EXTRA_SECONDS 0.01	/* at least, from one snapshot between intervals to the next */
#define GIVE_BACK_FIRST_SECONDS 1
#define GIVE_BACK_SECONDS 50	/* less than an interval of a minute */
enum { END_MS = 20 };

/* ---- LOADED -> WATCHING ---- */

/* A function that throws can't be spanned when no unwinder of the target knows our tables. */
static int replan_for_map(struct session *s)
{
	struct session_refusal refusal;
	int error;

	if (s->loader != LOADER_MAP || s->options->loader == LOADER_MAP)
		return 0;
	error = session_plan(s, true);
	if (!error && session_refusal_custom(&s->plan, &s->options->custom, &refusal))
		return session_refuse(s, &refusal);
	return error;
}

static int hook(struct session *s)
{
	struct watch_options options = {
		.mode = s->options->mode, .sample_bytes = s->options->sample_bytes,
		.percent = s->options->overhead_percent, .custom_cost = s->hook_cost.custom,
		.pair_cost = hook_cost_pair(&s->hook_cost, &s->plan),
		.block = s->options->block, .leaks = s->options->leaks,
		.from_start = s->options->task == SESSION_RUN,
		.free_stacks = s->options->free_stacks,
		.recognise = session_recognises(s), .verify_stacks = s->options->verify_stacks,
		.max_memory = s->options->max_memory,
		.unhurried = s->options->screen && s->options->screen_can_wait,
		.observe = s->trace ? trace_log_observe : NULL, .observer = s->trace,
		.observe_wrong = s->trace ? trace_log_observe_wrong : NULL,
	};
	uint64_t value[PROTO_ASKED] = { 0 };
	int error = target_view_refresh(&s->view);

	if (error >= 0)
		error = modules_set_shim(s->view.modules, shim_image_start, shim_image_bytes(),
					 s->shim_base);
	s->planned_modules = modules_count(s->view.modules);	/* the shim has come */
	value[0] = session_dl_handle(s);
	if (!error)
		error = watch_open(&s->watch, &s->view, &s->plan, s->unwinder, &options,
				   s->ring_fd);
	s->ring_fd = -1;
	s->watching = true;
	if (!error)
		error = keeper_link_call(&s->link, PROTO_HOOK, value, NULL, 0);
	if (error)
		return session_fail(s, session_may_try_again(error) ? SESSION_REFUSED :
				    SESSION_FAILED, "can't hook the allocators", error);
	s->hooked = true;
	watch_begin(&s->watch);
	if (s->trace)
		trace_log_begin(s->trace);
	s->state = STATE_WATCHING;
	if (s->options->task == SESSION_RUN)
		error = session_picture_start(s);
	return error ? session_fail(s, SESSION_FAILED, "can't start the program", error) : 0;
}

/* ---- WATCHING ---- */

static enum site_kind counted_kind(const struct session *s)
{
	return s->options->track & ALLOCATOR_TRACK_MALLOC ? SITE_MALLOC : SITE_MMAP;
}

static void note_snapshot(struct session *s)
{
	const struct site_totals *totals = sites_totals(s->watch.sites, counted_kind(s));

	s->link.snapshot_wanted = false;
	snapshot_on_taken(&s->snapshot_on, estimate_bytes(&totals->alloc),
			  estimate_bytes(&totals->live));
}

/* One interval has passed: books, recording, screen. */
static int end_interval(struct session *s)
{
	int error = watch_tick(&s->watch);

	session_plan_later(s);
	if (!error)
		error = session_report_interval(&s->report, &s->watch);
	note_snapshot(s);
	return error;
}

/* A snapshot before the interval is over, if there is a reason (--snapshot-on). */
static int take_extra(struct session *s, double *last)
{
	const struct site_totals *totals = sites_totals(s->watch.sites, counted_kind(s));
	enum snapshot_reason reason = s->link.snapshot_wanted ? SNAPSHOT_SIGNAL :
		snapshot_on_due(&s->snapshot_on, &s->options->snapshot_on,
				estimate_bytes(&totals->alloc), estimate_bytes(&totals->live));
	int error;

	if (reason == SNAPSHOT_INTERVAL || session_now() < *last + EXTRA_SECONDS)
		return 0;
	error = session_report_extra(&s->report, &s->watch, reason);
	note_snapshot(s);
	*last = session_now();
	return error;
}

/* Only where what comes meanwhile may be lost, which is then counted. */
static void begin_sharing(struct session *s)
{
	s->share = (struct share){ .file = -1 };
	if (s->options->mode == SNAPSHOT_EXACT && !s->options->block)
		share_open(&s->share);
}

/* After a drain; the target was losing events before it. Not beyond the moment due. */
static void rest(struct session *s, bool losing, double due)
{
	double left = (due - session_now()) * 1e9;
	uint64_t most = share_turn(&s->share, losing);
	struct timespec pause = { .tv_nsec = (long)fmin((double)most, fmax(left, 0)) };

	if (pause.tv_nsec > 0)
		(void)nanosleep(&pause, NULL);
}

/* What the beginning took, and each minute's work, is not held for days. */
static void give_back(struct session *s, double *due)
{
	double now = session_now();

	if (now < *due)
		return;
	session_names_rest(s->report.names);
	recording_rest(s->report.recording);
	give_back_buffer(s->link.payload, sizeof(s->link.payload));
	give_back_memory();
	*due = now + GIVE_BACK_SECONDS;
}

/* Without the time stamp counter no hook works: nothing more is seen, and books would lie. */
static bool has_ended(const struct session *s)
{
	bool blind = watch_confined(&s->watch) & RING_CONFINED_CLOCK;

	if (blind)
		log_warning("process %d may not read the time stamp counter any more (strict "
			    "seccomp, PR_SET_TSC): watching ends here", s->view.hello.pid);
	return blind || s->link.stop_wanted || s->link.target_gone || s->link.target_ending ||
	       s->trace_ended;
}

static int keep_watching(struct session *s)
{
	double begin = session_now(), next = begin + s->options->interval, extra = 0;
	double end = s->options->duration >= 0 ? begin + s->options->duration : INFINITY;
	double rest_due = begin + GIVE_BACK_FIRST_SECONDS;
	uint64_t pause = 0;
	int error = 0;

	session_report_begin(&s->report, &s->watch);
	intruder_begin();
	begin_sharing(s);
	while (!error && !has_ended(s)) {
		double filled = reader_backlog(s->watch.reader);
		bool losing = reader_is_pressed(s->watch.reader);
		int events = watch_drain(&s->watch);

		session_trace_pump(s);
		error = s->watch.error;
		if (!error)
			error = keeper_link_poll(&s->link, 0);
		session_report_turn(&s->report, &s->watch);
		if (!error)
			error = session_report_save(&s->report, &s->watch);
		session_check_turn(s);
		if (session_now() >= end)
			break;
		if (!error && session_now() >= next) {
			error = end_interval(s);
			next += s->options->interval;
			give_back(s, &rest_due);
		} else if (!error && s->options->output) {
			error = take_extra(s, &extra);
		}
		if (error)
			break;
		pause = session_pause(s, pause, events, filled);
		session_wait(s, pause, fmin(next, end));
		if (s->share.file >= 0)
			rest(s, losing, fmin(next, end));
	}
	share_close(&s->share);
	session_check_end(s);
	watch_look_at_threads(&s->watch, true);
	session_report_watched(&s->report);
	if (error == -EPIPE)
		return session_fail(s, SESSION_DORMANT, "the keeper is gone", error);
	return error ? session_fail(s, SESSION_FAILED, "watching", error) : 0;
}

static int open_session(struct session *s)
{
	int error = target_view_open(&s->view, &s->link, s->options->names_memory);

	if (!error)
		error = unwinder_new(s->view.modules, &s->unwinder);
	if (!error)	/* before an older recording makes way for a new one */
		error = session_leaks_open_history(&s->leaks);
	if (!error)
		error = session_report_open(&s->report, s->options, &s->view, &s->plan);
	if (!error)
		error = session_trace_open(s);
	if (error == -ENOTDIR)
		s->exit = SESSION_USAGE;	/* said already */
	else if (error)
		(void)session_fail(s, SESSION_FAILED, "can't open the session", error);
	return error;
}

/* ---- the whole ---- */

static void know_older(struct session *s)
{
	int error = session_older_take(&s->leaks, &s->watch, &s->report.older);

	if (error)
		session_picture_is_left(s, error);
}

/* Of a session without --leaks and --heaps, and of one whose picture was not to be had. */
static void look_at_regions(struct session *s, void (*idle)(void *context))
{
	if (!session_memory_wants_regions(s->options) || s->memory.regions)
		return;
	if (target_view_refresh(&s->view) < 0 ||
	    session_memory_take(&s->memory, &s->view, idle, &s->watch))
		log_debug("the mappings of the target are not known");
}

/* What is to be known of it before it is left. */
static void look_at_memory(struct session *s)
{
	bool leaks = s->watch.options.leaks;

	if (leaks || session_memory_wants_heaps(s->options))
		session_picture_take(s, &s->watch);
	if (!leaks)
		session_picture_release(s);	/* its heaps were walked: that is all */
	look_at_regions(s, watch_keep_up);
}

/* What is searched is the target's own memory: it goes when the target is let go. */
static void end_with_target(struct session *s)
{
	session_picture_search(s);
	session_picture_let_end(s);
	while (!s->link.target_gone && keeper_link_poll(&s->link, END_MS) == 0)
		(void)watch_drain(&s->watch);
}

static void attach_and_watch(struct session *s)
{
	int error = session_load(s);

	if (error)
		goto out;
	error = replan_for_map(s);
	if (!error)
		error = hook(s);
	s->report.loader = s->loader;
	if (!error)
		know_older(s);
	session_note_stops(s, true);
	if (!error)
		(void)keep_watching(s);
	if (!error && !s->link.target_ending)
		session_picture_let_end(s);
	if (!error && !s->link.target_gone && target_view_refresh(&s->view) >= 0)
		session_plan_later(s);
	if (!error && !s->link.target_gone)
		look_at_memory(s);
	if (s->link.target_ending)
		end_with_target(s);
out:
	if (s->state >= STATE_LOADED || s->link.target_gone)
		session_leave(s);
	if (s->leaks.taken) {
		session_picture_search(s);
		session_note_stops(s, false);	/* the child is waited for in a stop, too */
	}
}

static void report(struct session *s, bool attach)
{
	bool concluded = session_report_conclude(&s->report, &s->watch, &s->exit);

	if (s->leaks.taken) {
		session_picture_release(s);
		session_note_stops(s, attach);
	}
	if (s->picture_left && s->report.detached == SNAPSHOT_PRISTINE)
		s->report.detached = SNAPSHOT_DORMANT;
	if (concluded && s->trace)
		session_trace_end(s);
	else if (concluded)
		session_report_write(&s->report, &s->watch, &s->exit);
}

/* Only what lies in memory: nothing is hooked, nothing stays in the target for a moment. */
static int look_only(struct session *s)
{
	struct watch_options options = { .mode = s->options->mode };
	struct session_refusal refusal;
	int error = watch_open_empty(&s->watch, &s->view, &s->plan, &options);

	if (error)
		return session_fail(s, SESSION_FAILED, "can't open the books", error);
	session_report_begin(&s->report, &s->watch);
	if (session_memory_wants_heaps(s->options))
		session_picture_take(s, NULL);
	if (s->options->leaks)
		session_picture_search(s);
	else
		session_picture_release(s);
	look_at_regions(s, NULL);
	if (s->report.leaks && s->leaks.report->heap_count == 0 &&
	    session_refusal_no_heap(&s->plan, &refusal)) {
		s->report.leaks = NULL;		/* "0 lost" would be no answer */
		session_picture_release(s);
		return session_refuse(s, &refusal);
	}
	session_note_stops(s, true);
	s->report.detached = s->link.target_gone ? SNAPSHOT_TARGET_ENDED : SNAPSHOT_PRISTINE;
	if (s->link.target_gone && !s->exit)
		s->exit = SESSION_TARGET_ENDED;
	session_report_watched(&s->report);
	if (s->report.leaks || (!s->options->leaks && s->memory.regions))
		report(s, true);
	return 0;
}

static int await_libraries(struct session *s)
{
	int error = session_await_libraries(&s->view);

	if (error == -ETIME) {
		log_error("its dynamic loader is still loading libraries; try again when the "
			  "program has begun");
		s->exit = SESSION_REFUSED;
		return error;
	}
	return error ? session_fail(s, error == -ESRCH ? SESSION_TARGET_ENDED : SESSION_FAILED,
				    "it is just beginning", error) : 0;
}

static int watch_session(struct session *s)
{
	int error = session_make_plan(s);

	if (error)
		return error;
	if (session_is_picture_only(s->options))
		return look_only(s);
	attach_and_watch(s);
	if (s->hooked && s->watch.live)
		report(s, false);
	return 0;
}

/* The program stands before its first instruction; its libraries are not there yet. */
static int run_session(struct session *s)
{
	int error = session_start_to_libraries(&s->view);

	if (error == -ESRCH)
		log_error("the program ended before it was ready to be watched");
	if (error)
		return session_fail(s, SESSION_FAILED, "can't start the program", error);
	return watch_session(s);
}

static int attach_session(struct session *s)
{
	int error = await_libraries(s);

	return error ? error : watch_session(s);
}

static int check_session(struct session *s)
{
	char why[128];
	int proof;

	if (await_libraries(s) || session_make_plan(s))
		return 0;
	hook_plan_print(&s->plan, stdout);
	proof = session_prove_thread(s, false, why);
	printf("loader: %s\n", proof == 1 ? "dlopen (a thread is proven safe for it)" : "map");
	if (proof == 0)
		printf("        no dlopen: %s\n", why);
	return fflush(stdout) ? -errno : 0;
}

/* The keeper has rebuilt what lies in the target from its journal. */
static int cleanup_session(struct session *s)
{
	int error = session_plan(s, false);
	static struct proto_load load;

	if (error)
		return error;
	load = (struct proto_load){ .plan = s->plan };
	error = keeper_link_call(&s->link, PROTO_ADOPT, NULL, &load, sizeof(load));
	if (error == -ENOENT && s->link.reply.value[2]) {
		log_notice("process %d is as it was: dead children of memattach's were removed",
			   s->view.hello.pid);
		return 0;
	}
	if (error == -ENOENT) {
		log_notice("%s: nothing to clean up", s->link.reply.text);
		return 0;
	}
	if (error)
		return session_fail(s, SESSION_REFUSED, "can't clean up", error);
	s->loader = (enum attachment_loader)s->link.reply.value[0];
	s->shim_base = s->link.reply.value[1];
	s->state = STATE_LOADED;
	if (s->shim_base)
		(void)modules_set_shim(s->view.modules, shim_image_start, shim_image_bytes(),
				       s->shim_base);
	session_leave(s);
	if (s->report.detached == SNAPSHOT_PRISTINE && !s->options->quiet)
		log_notice("process %d is as it was", s->view.hello.pid);
	return 0;
}

/* Once that is done no code is loaded any more, and no file opened but by the opener. */
static int give_up_privileges(struct session *s, int opener)
{
	bool watches = session_opens_files(s->options);

	if (watches && opener < 0)
		log_warning("no process can be made to open files (%s): names will be missing; "
			    "raise the limit of processes (ulimit -u, pids.max)",
			    strerror(-opener));
	if (watches && !session_is_picture_only(s->options))
		s->hook_cost = hook_cost_measure();
	return trapped_begin(opener < 0 ? -1 : opener) ?: sandbox_enter();
}

struct opener_needs session_opener_needs(const struct session_options *options)
{
	return (struct opener_needs){
		.output = options->output, .unnamed = options->unnamed,
		.history = options->history, .is_log = options->trace,
		.sources = options->leaks || options->screen ||
			   (view_needs(options->view) & VIEW_NEEDS_SOURCES),
		.only_public = options->only_public,
	};
}

int session_run(const struct session_options *options, int socket, int opener)
{
	static int (*const task[])(struct session *s) = {
		[SESSION_WATCH] = attach_session,
		[SESSION_RUN] = run_session,
		[SESSION_CHECK] = check_session,
		[SESSION_CLEANUP] = cleanup_session,
	};
	static struct session session;
	struct session *s = &session;
	uint64_t value[PROTO_ASKED] = { 0 };

	s->options = options;
	s->ring_fd = -1;
	keeper_link_init(&s->link, socket);
	apart_withhold(socket);
	if (options->screen)
		apart_withhold(options->screen_socket);
	session_leaks_init(&s->leaks, options, &s->view, &s->plan);
	s->leaks.memory = &s->memory;
	s->report.memory = &s->memory;
	if (give_up_privileges(s, opener) != 0) {
		log_error("the analyst could not give up its privileges");
		s->exit = SESSION_FAILED;
	} else if (open_session(s) == 0) {
		(void)task[options->task](s);
	}
	value[0] = (uint64_t)s->exit;
	(void)!keeper_link_call(&s->link, PROTO_FINISH, value, NULL, 0);
	trace_log_close(s->trace);
	session_report_close(&s->report);
	session_leaks_done(&s->leaks);
	session_memory_done(&s->memory);
	watch_close(&s->watch);
	unwinder_free(s->unwinder);
	target_view_done(&s->view);
	cleanup_fd(&s->ring_fd);
	return s->exit;
}
