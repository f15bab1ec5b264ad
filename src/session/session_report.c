/* SPDX-License-Identifier: MIT */
/*
 * session_report.c - snapshots out: each interval into the recording and (plain)
 * onto the terminal, at the end the whole report. Stdout carries the report and
 * nothing else; a recording that fails (a full disk) is said once and loses
 * nothing of the report.
 */
#include "src/session/session_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/access/access.h"
#include "src/base/log.h"
#include "src/base/version.h"
#include "src/base/why.h"
#include "src/recording/unnamed.h"
#include "src/report/human.h"
#include "src/report/trace_to.h"

#define NAMES_SECONDS 1	/* after five without being emptied the keeper takes us for hung */
#define BUSY_BACKLOG 0.1
#define SAVE_SECONDS 1
#define LIVES_STEP 1.1	/* from one look at all live blocks to the next: a tenth of the session */

static double clock_seconds(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 0, or an error that was said: -ENOTDIR. */
static int open_recording(struct session_report *r)
{
	const struct session_options *options = r->options;
	int error = options->unnamed ?
		    recording_open_unnamed(options->unnamed, options->output, &r->recording) :
		    options->screen_can_wait ? recording_open_soon(options->output, &r->recording) :
		    recording_open(options->output, &r->recording);

	if (!error && options->max_recording)
		error = recording_set_limit(r->recording, options->max_recording);
	if (error == -EEXIST)
		log_error("%s exists and is not a recording; choose another file", options->output);
	else if (error == -EBUSY)
		log_error("%s is in use: another process writes or reads it; choose another file",
			  options->output);
	else if (error)
		log_error("can't write %s: %s; %s",
			  options->output[0] ? options->output : "a file without a name",
			  strerror(-error), options->unnamed ? "use -o, or set TMPDIR" :
							       "choose another place");
	return error ? -ENOTDIR : 0;
}

int session_report_open(struct session_report *r, const struct session_options *options,
			const struct target_view *view, const struct hook_plan *plan)
{
	int error;

	r->options = options;
	r->view = view;
	r->plan = plan;
	error = symbolizer_new(view->modules, &r->symbolizer);
	if (!error)
		error = session_names_new(view->modules, r->symbolizer, &r->names);
	if (!error)
		error = name_shaper_new(&options->names, &r->shaper);
	if (!error && options->screen)
		error = feed_new(options->screen_socket,
				 &(struct feed_names){ r->symbolizer, r->names, r->shaper,
						       options->screen_can_wait }, &r->feed);
	if (error || !options->output || options->trace ||
	    (options->task != SESSION_WATCH && options->task != SESSION_RUN))
		return error;
	return open_recording(r);
}

/* The live screen comes up now, and not earlier: it covers what was said until here. */
static void begin_screen(struct session_report *r)
{
	const struct snapshot_target target = {
		.pid = r->view->hello.pid, .exe = (char *)(uintptr_t)r->view->hello.exe,
		.cmdline = (char *)(uintptr_t)r->view->hello.cmdline,
	};

	feed_begin(r->feed, &target, VERSION_TEXT);
}

void session_report_begin(struct session_report *r, struct watch *watch)
{
	if (r->recording)
		recording_set_pulse(r->recording, watch_keep_up, watch);	/* takes seconds */
	if (r->feed)
		begin_screen(r);
	r->begin_time = clock_seconds(CLOCK_REALTIME);
	r->begin = clock_seconds(CLOCK_MONOTONIC);
}

void session_report_watched(struct session_report *r)
{
	r->end = clock_seconds(CLOCK_MONOTONIC);
	if (r->recording)
		recording_set_pulse(r->recording, NULL, NULL);
	if (r->feed)
		feed_end(r->feed);
}

void session_report_turn(struct session_report *r, struct watch *watch)
{
	double percent;
	bool busy;

	if (!r->feed)
		return;
	busy = reader_backlog(watch->reader) > BUSY_BACKLOG;
	feed_turn(r->feed, watch->sites, watch->stacks, busy);
	if (feed_wants_names(r->feed))
		session_report_names_want(r);
	session_report_names_turn(r, watch, busy);
	percent = feed_budget(r->feed);
	if (percent > 0)
		pace_set_percent(&watch->pace, percent);
}

void session_report_stops(struct session_report *r, bool attach, uint64_t us, uint32_t threads)
{
	uint64_t *longest = attach ? &r->attach_stop_us : &r->detach_stop_us;

	if (us > *longest)
		*longest = us;
	r->threads_stopped += threads;
}

static double process_start_time(uint64_t ticks)
{
	double now = clock_seconds(CLOCK_REALTIME), up = clock_seconds(CLOCK_BOOTTIME);

	return now - up + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Names of the entries of family in the plan; borrowed strings, owned array. */
static size_t hooked_names(const struct hook_plan *plan, uint32_t family, char ***ret)
{
	char **name = calloc(plan->entry_count + 1, sizeof(*name));
	size_t count = 0;

	for (uint32_t i = 0; name && i < plan->entry_count; i++)
		if (plan->entry[i].family == family)
			name[count++] = (char *)(uintptr_t)plan->entry[i].name;
	*ret = name;
	return count;
}

/* As hooked_names(), of what is not seen. */
static size_t unhooked_names(const struct hook_plan *plan, uint32_t family, char ***ret)
{
	char **name = calloc(plan->skipped_count + 1, sizeof(*name));
	size_t count = 0;

	for (uint32_t i = 0; name && i < plan->skipped_count && i < HOOK_MAX_SKIPPED; i++)
		if (plan->skipped_family[i] == family)
			name[count++] = (char *)(uintptr_t)plan->skipped[i];
	*ret = name;
	return count;
}

static size_t describe_allocators(const struct hook_plan *plan, struct snapshot_allocator *to)
{
	size_t count = 0;

	for (uint32_t i = 0; i < plan->family_count; i++) {
		const struct hook_family *f = &plan->family[i];

		if (f->kind != HOOK_FAMILY_MALLOC && f->kind != HOOK_FAMILY_CUSTOM)
			continue;
		to[count] = (struct snapshot_allocator){
			.name = (char *)(uintptr_t)f->name,
			.version = (char *)(uintptr_t)f->version,
			.module = (char *)(uintptr_t)f->module,
		};
		to[count].hooked_count = hooked_names(plan, i, &to[count].hooked);
		to[count].unhooked_count = unhooked_names(plan, i, &to[count].unhooked);
		count++;
	}
	return count;
}

static void describe_children(const struct children_left *left, struct snapshot_session *to)
{
	to->children_left = left->count;
	for (uint32_t i = 0; i < left->count && i < SNAPSHOT_MAX_CHILDREN; i++) {
		to->child[i].pid = left->child[i].pid;
		(void)snprintf(to->child[i].reason, sizeof(to->child[i].reason), "%s",
			       left->child[i].reason);
	}
}

/* What goes on where the target ended: itself as another program, or children, unless followed. */
static void describe_heirs(const struct session_report *r, struct snapshot_session *to)
{
	if (r->detached != SNAPSHOT_TARGET_ENDED || r->options->tell_children)
		return;
	if (r->became) {
		(void)snprintf(to->became, sizeof(to->became), "%s", r->became);
		return;
	}
	to->signal = r->signal;
	to->unwatched = r->left.alive_count;
	for (uint32_t i = 0; i < to->unwatched && i < SNAPSHOT_MAX_CHILDREN; i++)
		to->unwatched_pid[i] = r->left.alive[i];
}

static struct snapshot_session describe_session(const struct session_report *r)
{
	double end = r->end > 0 ? r->end : clock_seconds(CLOCK_MONOTONIC);
	struct snapshot_session session = {
		.version = (char *)(uintptr_t)VERSION_TEXT,
		.mode = r->options->mode,
		.loader = r->loader == LOADER_MAP ? SNAPSHOT_LOADER_MAP : SNAPSHOT_LOADER_DLOPEN,
		.started = r->options->task == SESSION_RUN,
		.begin_time = r->begin_time,
		.duration = end - r->begin,
		.overhead_percent = -1,
		.attach_stop_us_max = r->attach_stop_us,
		.detach_stop_us_max = r->detach_stop_us,
		.threads_stopped = r->threads_stopped,
		.detached = r->detached,
		.older = r->older,
	};

	describe_children(&r->left, &session);
	describe_heirs(r, &session);
	return session;
}

int session_report_snapshot(struct session_report *r, struct watch *watch, struct snapshot **ret)
{
	const struct proto_hello *hello = &r->view->hello;
	struct snapshot_allocator allocator[HOOK_MAX_FAMILIES];
	struct snapshot_session session = describe_session(r);
	struct snapshot_target target = {
		.pid = hello->pid, .exe = (char *)(uintptr_t)hello->exe,
		.cmdline = (char *)(uintptr_t)hello->cmdline,
		.start_time = process_start_time(hello->start_time_ticks),
		.threads = hello->threads, .owner = hello->owner, .allocator = allocator,
	};
	int error;

	memset(allocator, 0, sizeof(allocator));
	target.allocator_count = describe_allocators(r->plan, allocator);
	error = watch_snapshot(watch, &target, &session, ret);
	for (size_t i = 0; i < target.allocator_count; i++) {
		free(allocator[i].hooked);
		free(allocator[i].unhooked);
	}
	return error;
}

static struct report_input input_for(struct session_report *r, const struct snapshot *snapshot,
				     const struct watch *watch)
{
	return (struct report_input){
		.snapshot = snapshot, .stacks = watch->stacks,
		.names = name_shaper_names(r->shaper, report_names_symbolizer(r->symbolizer)),
		.options = { .top = r->options->top, .color = r->options->color },
		.leaks = r->leaks ? r->leaks->report : NULL,
	};
}

static int threads_now(const struct watch *watch, struct thread_table **ret)
{
	return thread_table_take(watch->live, &watch->ticks, watch->threads.id,
				 watch->threads.count, ret);
}

/* Once, for a view and for the recording: r->lives, r->blocks, r->threads. */
static int lives_at_end(struct session_report *r, const struct watch *watch)
{
	uint64_t now = watch->reader ? reader_time(watch->reader) : ticks_now();

	int error = 0;

	if (!r->lives)
		error = site_lives_take(watch->sites, watch->live, &watch->ticks, 0, now,
					&r->lives);
	if (!error && !r->blocks)
		error = block_list_take(watch->live, &watch->ticks, &r->blocks);
	if (!error && !r->threads)
		error = threads_now(watch, &r->threads);
	return error;
}

/*
 * Of sites with events since the last time, less the second by which events may be late; at the
 * end of all, since what a gap took from sites is no event.
 */
static int record_lives(struct session_report *r, const struct watch *watch)
{
	uint64_t now = watch->reader ? reader_time(watch->reader) : ticks_now();
	uint64_t late = (uint64_t)watch->ticks.hz;
	uint64_t since = r->lives_at < late ? 0 : r->lives_at - late;
	struct site_lives *lives = NULL;
	struct thread_table *threads = NULL;
	int error;

	if (r->end > 0)
		error = lives_at_end(r, watch);
	else
		error = site_lives_take(watch->sites, watch->live, &watch->ticks, since, now,
					&lives);
	if (!error && r->end <= 0)
		error = threads_now(watch, &threads);
	if (!error)
		error = recording_add_lives(r->recording, lives ? lives : r->lives);
	if (!error && r->blocks)
		error = recording_add_blocks(r->recording, r->blocks);
	if (!error)
		error = recording_add_threads(r->recording, threads ? threads : r->threads);
	site_lives_free(lives);
	thread_table_free(threads);
	if (!error && !recording_is_full(r->recording))
		r->lives_at = now;
	return error;
}

static void say(struct session_report *r, const char *text)
{
	log_error("%s", text);
	if (r->feed)	/* which covers that until the end */
		feed_note(r->feed, text);
}

/* Once for each time that the disk is full. */
static void say_room(struct session_report *r, double seconds)
{
	bool full = recording_is_full(r->recording);
	char text[512];

	if (full == r->recording_full)
		return;
	r->recording_full = full;
	(void)snprintf(text, sizeof(text), full ?
		       "%.300s: no room on the disk at %.1f s; it goes on when there is some" :
		       "%.300s: there is room again at %.1f s, and all until then is in it, but "
		       "not when it was so",
		       r->options->output, seconds);
	say(r, text);
}

/* 0, also while the disk is full; -errno. */
static int record_interval(struct session_report *r, const struct snapshot *snapshot,
			   const struct watch *watch)
{
	double seconds = snapshot->session.duration;
	int error = recording_add(r->recording, snapshot, watch->stacks, r->view->modules);

	if (!error && !recording_is_full(r->recording) && !r->options->counts &&
	    (seconds >= r->next_lives || r->end > 0)) {
		error = record_lives(r, watch);
		if (!error && !recording_is_full(r->recording))
			r->next_lives = seconds * LIVES_STEP;
	}
	return error;
}

static void record(struct session_report *r, const struct snapshot *snapshot,
		   const struct watch *watch)
{
	const char *said;
	int error;

	if (!r->recording || r->recording_failed)
		return;
	error = record_interval(r, snapshot, watch);
	if (!error) {
		say_room(r, snapshot->session.duration);
		return;
	}
	r->recording_failed = true;
	said = recording_error(r->recording);
	say(r, said[0] ? said : "out of memory: the recording ends here");
}

/* One line on a terminal's stderr, overwritten each interval. */
static void show_progress(struct session_report *r, const struct snapshot *snapshot)
{
	bool known = snapshot_knows_live(snapshot, NULL);
	struct human live = human_bytes((double)snapshot->totals.live_bytes);
	struct human count = human_count((double)snapshot->totals.alloc_count);

	if (r->options->plain || r->options->screen || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rmemattach: %.0f s, %s allocations%s%s%s \033[K",
		snapshot->session.duration, count.text, known ? ", " : "",
		known ? live.text : "", known ? " live" : "");
	r->progress = true;
}

static void end_progress(struct session_report *r)
{
	if (r->progress)
		fputs("\r\033[K", stderr);
	r->progress = false;
}

static void show(struct session_report *r, const struct snapshot *snapshot,
		 const struct watch *watch)
{
	const struct feed_figures figures = {
		.snapshot = snapshot, .interval = r->options->interval, .live = watch->live,
		.ticks = &watch->ticks, .memory = &r->view->reader,
	};

	feed_show(r->feed, &figures);
}

/* A picture of thousands of sites is work: none for nobody. */
static bool wants_picture(const struct session_report *r)
{
	bool progress = !r->options->plain && !r->options->screen && isatty(STDERR_FILENO);

	return !r->options->trace && ((r->recording && !r->recording_failed) || r->feed ||
				      (r->options->plain && !r->options->json) || progress);
}

int session_report_interval(struct session_report *r, struct watch *watch)
{
	struct snapshot *snapshot;
	struct report_input input;
	int error;

	watch_look_at_threads(watch, false);
	if (!wants_picture(r))
		return 0;
	error = session_report_snapshot(r, watch, &snapshot);
	if (error)
		return error;
	record(r, snapshot, watch);
	session_report_names_interval(r);
	show_progress(r, snapshot);
	if (r->feed)
		show(r, snapshot, watch);
	input = input_for(r, snapshot, watch);
	if (r->options->plain && !r->options->json) {
		session_names_until(r->names, clock_seconds(CLOCK_MONOTONIC) + NAMES_SECONDS);
		(void)report_find("live")->write(stdout, &input);
		(void)fflush(stdout);
		session_names_until(r->names, 0);
	}
	if (r->feed && feed_wants_snapshot(r->feed))
		feed_save(r->feed, snapshot);
	else
		snapshot_free(snapshot);
	return 0;
}

int session_report_extra(struct session_report *r, struct watch *watch,
			 enum snapshot_reason reason)
{
	struct snapshot *snapshot;
	int error;

	if (!r->recording || r->recording_failed)
		return 0;
	error = session_report_snapshot(r, watch, &snapshot);
	if (error)
		return error;
	snapshot->reason = reason;
	record(r, snapshot, watch);
	snapshot_free(snapshot);
	return 0;
}

int session_report_save(struct session_report *r, struct watch *watch)
{
	double now = clock_seconds(CLOCK_MONOTONIC);
	struct snapshot *snapshot;
	int error;

	if (!r->feed || !r->options->screen_can_wait || !feed_wants_snapshot(r->feed) ||
	    now < r->saved + SAVE_SECONDS)
		return 0;
	error = session_report_snapshot(r, watch, &snapshot);
	if (error)
		return error;
	r->saved = now;
	feed_save(r->feed, snapshot);
	return 0;
}

static void say_unfolded(const struct session_report *r, int error)
{
	char text[800];

	recording_explain_close(r->options->output, error, text, sizeof(text));
	log_error("%s", text);
}

static void close_recording(struct session_report *r, const struct snapshot *snapshot,
			    const struct watch *watch, int *exit)
{
	struct report_names names = report_names_symbolizer(r->symbolizer);
	int error;

	if (!r->recording)
		return;
	record(r, snapshot, watch);
	if (!r->recording_failed && r->leaks &&
	    recording_add_leaks(r->recording, r->leaks->report)) {
		r->recording_failed = true;
		log_error("%s", recording_error(r->recording));
	}
	if (!r->recording_failed && recording_symbolize(r->recording, &names)) {
		r->recording_failed = true;
		log_error("%s", recording_error(r->recording));
	}
	if (!r->recording_failed &&
	    recording_add_memory(r->recording, r->memory->regions, r->memory->figures)) {
		r->recording_failed = true;
		log_error("%s", recording_error(r->recording));
	}
	error = recording_close(r->recording);
	r->recording = NULL;
	if (error && !r->recording_failed)
		say_unfolded(r, error);
	if ((error || r->recording_failed) && *exit == SESSION_OK)
		*exit = SESSION_FAILED;
}

/* Are the suspects still used? What can't be found out is said in the report. */
static void watch_accesses(const struct session_report *r, int *exit)
{
	struct access_changes changes = {
		.before = r->leaks->picture.mem, .now = r->leaks->view->mem,
		.pagemap = r->leaks->pagemap, .pagemap_now = r->leaks->view->pagemap,
		.budget = ACCESS_COMPARED,
	};
	struct access_input input = {
		.view = r->leaks->view, .plan = r->plan, .symbolizer = r->symbolizer,
		.changes = r->leaks->taken ? &changes : NULL,
		.seconds = r->options->access_seconds, .progress = isatty(STDERR_FILENO),
	};
	int error = access_run(&input, r->leaks->report);

	if (error)
		log_error("--access: the accesses of process %d can't be watched: %s",
			  r->view->hello.pid, why_of(error).text);
	if (r->leaks->report->access.ended && *exit == SESSION_OK &&
	    r->options->task != SESSION_RUN)
		*exit = SESSION_TARGET_ENDED;
}

bool session_report_conclude(struct session_report *r, struct watch *watch, int *exit)
{
	int error;

	end_progress(r);
	(void)symbolizer_set_jit_map(r->symbolizer, r->view->jit);	/* none: nothing to name */
	error = watch_tick(watch);
	if (!error)
		error = session_report_snapshot(r, watch, &r->last);
	if (error) {
		log_error("out of memory: no report of process %d; use --sample with more bytes, "
			  "or a smaller --max-memory", r->view->hello.pid);
		*exit = *exit ? *exit : SESSION_FAILED;
		return false;
	}
	if (r->leaks && session_leaks_complete(r->leaks, r->symbolizer, r->names,
					       watch, r->last))
		log_error("out of memory: suspects are missing from the leak report");
	if (r->leaks && r->options->access_seconds > 0)
		watch_accesses(r, exit);
	if (r->leaks && r->leaks->report->kind[BLOCK_DEFINITELY_LOST].count &&
	    *exit == SESSION_OK)
		*exit = SESSION_LEAKS;
	return true;
}

static int write_view(struct session_report *r, const struct watch *watch,
		      const struct report_input *report, int *exit)
{
	struct view_input input = { .report = *report, .options = r->options->view_options };
	const char *missing;
	int error = r->options->counts ? 0 : lives_at_end(r, watch);

	if (error)
		return error;
	input.lives = r->lives;
	input.blocks = r->blocks;
	input.regions = r->memory->regions;
	input.heaps = r->memory->figures;
	input.report.threads = r->threads;
	missing = view_missing(r->options->view, &input);
	if (!missing)
		return view_write(r->options->view, stdout, &input, r->options->json);
	log_error("the view %s can't be shown: %s", r->options->view->name, missing);
	if (*exit == SESSION_OK)
		*exit = SESSION_USAGE;
	return 0;
}

/* A document and a recording name all sites; a text shows a few, a view perhaps none. */
static void foresee_names(const struct session_report *r, const struct watch *watch)
{
	const struct snapshot *snapshot = r->last;
	size_t count = snapshot->site_count;

	if (!r->recording && (!r->options->json || r->options->view))
		return;
	if (!r->recording && r->options->top && r->options->top < count)
		count = r->options->top;
	for (size_t i = 0; i < count; i++) {
		struct stack stack = stacks_get(watch->stacks, snapshot->site[i].stack);

		symbolizer_foresee(r->symbolizer, stack.frame, stack.frame_count);
	}
}

void session_report_write(struct session_report *r, struct watch *watch, int *exit)
{
	struct snapshot *snapshot = r->last;
	struct report_input input = input_for(r, snapshot, watch);
	int error;

	if (r->feed)
		feed_await_end(r->feed);
	snapshot->session.detached = r->detached;
	snapshot->session.attach_stop_us_max = r->attach_stop_us;
	snapshot->session.detach_stop_us_max = r->detach_stop_us;
	foresee_names(r, watch);
	if (r->options->trace_to && input.leaks)
		error = trace_write(stdout, &input, r->options->trace_to, r->options->json);
	else if (r->options->view)
		error = write_view(r, watch, &input, exit);
	else
		error = report_find(r->options->json ? "json" :
				    r->options->leaks_alone ? "leaks" : "text")
				->write(stdout, &input);
	if (fflush(stdout) != 0 && !error)
		error = -errno;
	if (error && *exit == SESSION_OK) {
		log_error("can't write the report to the standard output: %s",
			  why_file(error).text);
		*exit = SESSION_FAILED;
	}
	close_recording(r, snapshot, watch, exit);
	snapshot_free(snapshot);
	r->last = NULL;
}

void session_report_close(struct session_report *r)
{
	feed_free(r->feed);
	if (r->recording)
		(void)recording_close(r->recording);
	site_lives_free(r->lives);
	block_list_free(r->blocks);
	thread_table_free(r->threads);
	session_names_free(r->names);
	name_shaper_free(r->shaper);
	symbolizer_free(r->symbolizer);
}
