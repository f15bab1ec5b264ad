/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the only process that can change the target, and small on purpose.
 *
 * It parses no ELF, no DWARF and no link map of the target. It waits for the
 * analyst's requests, signals, the end of the target, and its clock. While it works on a
 * request that stops threads it writes to no descriptor that a stopped terminal could block.
 */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "inject/attach/counts_setup.h"
#include "inject/attach/deadline.h"
#include "inject/attach/ring_setup.h"
#include "inject/attach/target_lock.h"
#include "inject/attach/trap_on_top.h"
#include "inject/quiesce/loader_locks.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/launch.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/tracee.h"
#include "src/base/give_back.h"
#include "src/base/log.h"
#include "src/base/spare_pages.h"
#include "src/base/why.h"

enum { POLL_TRIES = 100, REST_TICKS = 150 };
#define LOAD_LIMIT_NS 3000000000ull
#define SPARE_BYTES (16ull << 20)	/* of address space, that are left to the target */
#define CHILD_LIMIT_NS 10000000000ull	/* for one forked process; the target waits for none */

static void restore_children(struct keeper *k);

static void use_sample(struct keeper *k, bool wanted)
{
	k->in.load.proven = wanted && k->sample.stack ? &k->sample : NULL;
	k->in.load.deadline_ns = tracee_now_ns() + LOAD_LIMIT_NS;
}

static bool plan_is_bounded(const struct hook_plan *plan)
{
	if (plan->entry_count > RING_MAX_ENTRIES || plan->island_count > RING_MAX_ISLANDS ||
	    plan->family_count > HOOK_MAX_FAMILIES || plan->clearance > HOOK_MAX_CLEARANCE)
		return false;
	for (uint32_t i = 0; i < plan->island_count; i++)
		if (!plan->island[i].pages || plan->island[i].pages > RING_MAX_ENTRIES)
			return false;
	return true;
}

/* Is there address space for recognition of stacks on top of bytes? It is no reason to refuse. */
static bool has_room(pid_t pid, uint64_t bytes)
{
	struct proc_thread_status status;
	uint64_t limit, overcommit;

	/* Where all of it would have to be there at once it is too much. */
	if (proc_read_number("/proc/sys/vm/overcommit_memory", "", &overcommit) < 0 ||
	    overcommit == 2)
		return false;
	if (proc_read_limit(pid, "Max address space", &limit) < 0 ||
	    proc_read_status(pid, &status) < 0)
		return false;
	if (status.locked_bytes > 0)	/* mlockall() may have been called for what comes, too */
		return false;
	return limit == UINT64_MAX ||
	       status.vm_bytes + bytes + RING_RECOGNITION_BYTES + SPARE_BYTES < limit;
}

static int on_load(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	const struct proto_load *load = (const void *)k->payload;
	struct attachment *a = &k->in.at;
	int error;

	if (request->payload_bytes != sizeof(*load))
		return -EPROTO;
	keeper_look_again(k);	/* some time has gone by since the first look */
	error = keeper_check_filter(k, load->loader);
	if (error)
		return error;
	spare_copy(&a->plan, &load->plan, sizeof(a->plan));
	if (!plan_is_bounded(&a->plan) ||
	    (load->loader != LOADER_MAP && load->loader != LOADER_DLOPEN) ||
	    load->counts >= COUNTS_KINDS || load->ring_total_bytes > RING_MAX_TOTAL_BYTES)
		return -EPROTO;
	a->geometry = ring_setup_geometry(load->ring_total_bytes,
					  (unsigned int)sysconf(_SC_NPROCESSORS_CONF),
					  load->sampled != 0);
	if (load->recognise && has_room(k->in.at.target.ref.pid, a->geometry.total_bytes))
		ring_setup_recognition(&a->geometry);
	if (load->counts)	/* last: see set_counts() */
		counts_setup_geometry(&a->geometry, load->counts,
				      !has_room(a->target.ref.pid, a->geometry.total_bytes));
	a->samples = load->sampled != 0;
	k->in.load.loader = (enum attachment_loader)load->loader;
	k->in.load.ask_tsc = !k->seccomp.filtered || k->seccomp.may_prctl;
	use_sample(k, load->loader == LOADER_DLOPEN);
	error = inject_enter(&k->in, INJECT_LOAD);
	if (error && load_is_out(a))
		(void)inject_leave(&k->in, INJECT_LOAD);
	reply->message.value[0] = a->shim_base;
	reply->message.value[1] = !load_is_out(a);
	if (error)
		return error;
	a->control->seed = load->seed;
	keeper_begin_confined(k);
	if (load->counts)
		error = counts_setup_head(a->control, load->counts, &a->plan, a->target.maps);
	if (error)
		return error;
	keeper_reply_fd(reply, a->ring_fd);
	return 0;
}

static int on_hook(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	int error;

	(void)reply;
	k->in.at.dl_handle = request->value[0];
	k->in.at.journal.dl_handle = request->value[0];
	if (k->in.at.control)
		k->in.at.control->journal.dl_handle = request->value[0];
	error = inject_enter(&k->in, INJECT_ENTRIES);
	if (!error)
		keeper_watch_confined(k, true);	/* from here on hooks see it */
	return error;
}

static int on_run_to(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	(void)reply;
	return launch_run_to(&k->in.at.target, request->value[0]);
}

/* For a cleanup, or for the analyst that replaces one that died. */
static int on_adopt(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	const struct proto_load *load = (const void *)k->payload;
	int error = 0;

	if (request->payload_bytes != sizeof(*load))
		return -EPROTO;
	if (k->in.done == 0)
		error = inject_adopt(&k->in, &load->plan);
	reply->message.value[2] = (uint64_t)keeper_reap_left(k, &load->plan);
	reply->message.value[0] = k->in.at.loader;
	reply->message.value[1] = k->in.at.shim_base;
	return error;
}

static int on_unhook(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	int error;

	children_remember(&k->children, &k->in);
	if (request->value[0])
		quiesce_clear_unwound(&k->in.at.target, &k->in.todo, (pid_t)request->value[0],
				      request->value[1], request->value[2]);
	error = inject_leave(&k->in, INJECT_ARM);
	reply->message.value[0] = (uint64_t)k->in.quiesce.blocker;
	return error;
}

static int on_unload(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	int error = load_is_out(&k->in.at) ? 0 : keeper_check_filter_again(k);

	(void)reply;
	children_remember(&k->children, &k->in);
	if (error)
		return error;
	if (request->value[1])
		k->in.at.dl_handle = request->value[1];
	use_sample(k, request->value[0] != 0);
	return inject_leave(&k->in, INJECT_RECORD);
}

static int on_children(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	(void)request;
	if (!k->is_child && !k->options->alone)	/* a child leaves one of them */
		restore_children(k);
	k->children_told = true;
	reply->payload = &k->children.left;
	reply->message.payload_bytes = sizeof(k->children.left);
	return 0;
}

static int on_status(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	static struct proto_status status;

	(void)request;
	status = (struct proto_status){
		.stop_us_max = k->in.at.stop_us_max,
		.threads_stopped = k->in.at.threads_stopped,
		.pristine = k->in.pristine,
		.loader = k->in.at.loader,
	};
	k->in.at.stop_us_max = 0;
	k->in.at.threads_stopped = 0;
	reply->payload = &status;
	reply->message.payload_bytes = sizeof(status);
	return 0;
}

static int on_finish(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	(void)reply;
	k->status = (int)request->value[0];
	k->finished = true;
	return 0;
}

static int (*const handler[PROTO_TYPE_COUNT])(struct keeper *k, const struct proto_message *request,
					       struct reply *reply) = {
	[PROTO_HELLO] = keeper_on_hello,
	[PROTO_OPEN_FILE] = keeper_on_open_file,
	[PROTO_LIST_THREADS] = keeper_on_list_threads,
	[PROTO_SAMPLE] = keeper_on_sample,
	[PROTO_LOAD] = on_load,
	[PROTO_HOOK] = on_hook,
	[PROTO_UNHOOK] = on_unhook,
	[PROTO_UNLOAD] = on_unload,
	[PROTO_RUN_TO] = on_run_to,
	[PROTO_RELEASE] = keeper_on_release,
	[PROTO_ADOPT] = on_adopt,
	[PROTO_CHILDREN] = on_children,
	[PROTO_FREEZE] = keeper_on_freeze,
	[PROTO_THAW] = keeper_on_thaw,
	[PROTO_ACCESS_BEGIN] = keeper_on_access_begin,
	[PROTO_ACCESS_END] = keeper_on_access_end,
	[PROTO_THREAD_NAMES] = keeper_on_thread_names,
	[PROTO_STATUS] = on_status,
	[PROTO_FINISH] = on_finish,
};

/* One request, one reply. 1 served, 0 the analyst is gone, -errno. */
static int serve(struct keeper *k)
{
	struct reply reply = { .message = { .status = 0 } };
	struct proto_message request;
	int fds[PROTO_MAX_FDS], got, error;
	uint64_t begin_ns;

	got = proto_receive(k->socket, &request, k->payload, fds);
	if (got <= 0)
		return got;
	for (int i = 0; i < PROTO_MAX_FDS; i++)
		cleanup_fd(&fds[i]);
	reply.message.type = request.type;
	k->in.problem[0] = '\0';
	if (request.type >= PROTO_TYPE_COUNT || !handler[request.type])
		return -EPROTO;
	begin_ns = tracee_now_ns();
	k->used = true;
	keeper_mind_restarts(k);
	if (request.type != PROTO_LOAD && request.type != PROTO_UNLOAD)
		keeper_drop_kept(k);
	reply.message.status = keeper_outcome(k, request.type,
					      handler[request.type](k, &request, &reply));
	if (request.type != PROTO_SAMPLE)
		keeper_drop_kept(k);
	log_debug("request %u: status %d after %llu us", request.type, reply.message.status,
		  (unsigned long long)(tracee_now_ns() - begin_ns) / 1000);
	(void)snprintf(reply.message.text, sizeof(reply.message.text), "%.500s", k->in.problem);
	if (reply.message.status)
		reply.message.payload_bytes = 0;
	error = proto_send(k->socket, &reply.message, reply.payload, reply.fd);
	for (unsigned int i = 0; reply.close_fds && i < reply.message.fd_count; i++)
		cleanup_fd(&reply.fd[i]);
	return error ? (error == -EPIPE ? 0 : error) : 1;
}

void keeper_wake_analyst(struct keeper *k)
{
	struct ring_control *control = k->in.at.control;

	if (!control)
		return;
	__atomic_store_n(&control->reader_asleep, 0, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &control->reader_asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int note(struct keeper *k, enum proto_type type, uint64_t value)
{
	struct proto_message message = { .type = type, .value = { value } };
	int error = proto_send(k->socket, &message, NULL, NULL);

	keeper_wake_analyst(k);
	return error;
}

static void read_signals(struct keeper *k)
{
	struct signalfd_siginfo info;

	while (read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo == SIGUSR1)
			k->snapshot_wanted = true;
		else if (info.ssi_signo == SIGUSR2)
			keeper_wake_analyst(k);	/* somebody has asked it something */
		else
			k->stop_wanted = k->picture_unwanted = k->access_unwanted = true;
}

bool keeper_address_space_gone(const struct keeper *k)
{
	return k->in.at.ring_base && remote_is_gone(&k->in.at.target, k->in.at.ring_base);
}

/*
 * What attaching took is not held for days: given back soon after, and then once a minute; not
 * while a thread of the target waits.
 */
static void give_back(struct keeper *k)
{
	k->kept += k->slow ? KEEPER_SLOW_TICKS : 1;
	if (!k->used || keeper_kept_left_ms(k) >= 0 || k->kept < k->rest_due)
		return;
	k->rest_due = k->kept + REST_TICKS;
	k->used = false;
	give_back_buffer(k->payload, sizeof(k->payload));
	give_back_memory();
}

/* What a uprobe was put on is its own: else removing that would leave half of our jump. */
static void yield_to_traps(struct keeper *k)
{
	unsigned int count = traps_yield(&k->in.at.target, &k->in.at.journal);

	if (count)
		log_warning("process %d: a uprobe was put on %u of the hooked functions: "
			    "their calls are not seen any more", k->in.at.target.ref.pid, count);
}

static int tick(struct keeper *k)
{
	uint64_t expirations;
	bool ticked = read(k->timer, &expirations, sizeof(expirations)) > 0;
	int error = 0;

	k->hung = keeper_analyst_hangs(k, ticked);
	if (k->hung || (k->deadline_ns && tracee_now_ns() > k->deadline_ns))
		return -ETIME;
	deadline_alive(k->in.at.clock);
	if (ticked) {
		give_back(k);
		keeper_watch_confined(k, false);
	}
	k->abandoned = abandon_release() > 0;
	k->gone = k->gone || !pidref_alive(&k->in.at.target.ref) || keeper_address_space_gone(k);
	keeper_tend_picture(k);
	if (k->gone)
		keeper_ending_over(k);
	if (ticked && !k->gone) {
		yield_to_traps(k);
		keeper_read_name(k);
	}
	keeper_pace_clock(k);
	if (k->gone && !k->gone_noted) {
		k->gone_noted = true;
		error = keeper_note_gone(k);
	}
	if (!error && keeper_ending_turn(k))
		error = note(k, PROTO_NOTE_ENDING, 0);
	if (!error && k->stop_wanted && !k->stop_noted) {
		k->stop_noted = true;
		error = note(k, PROTO_NOTE_STOP, 0);
	}
	if (!error && k->snapshot_wanted) {
		k->snapshot_wanted = false;
		error = note(k, PROTO_NOTE_SNAPSHOT, 0);
	}
	return error;
}

/* poll(); that the kernel has no memory for it passes, or is an error after two seconds. */
static int await_events(struct pollfd *wait, nfds_t count, int ms)
{
	for (int i = 0; i < POLL_TRIES; i++) {
		if (poll(wait, count, ms) >= 0 || errno == EINTR)
			return 0;
		(void)usleep(20000);
	}
	return -errno;
}

/* For poll(): until something has to be done without an event; -1: nothing has. */
static int most_ms(const struct keeper *k)
{
	int kept = keeper_kept_left_ms(k), ending = keeper_ending_left_ms(k);

	return kept < 0 || (ending >= 0 && ending < kept) ? ending : kept;
}

/* Serves until the analyst finishes (0) or is gone (-EPIPE). */
static int loop(struct keeper *k)
{
	while (!k->finished) {
		struct pollfd wait[] = {
			{ .fd = k->socket, .events = POLLIN },
			{ .fd = k->signals, .events = POLLIN },
			{ .fd = k->timer, .events = POLLIN },
			{ .fd = k->gone ? -1 : k->in.at.target.ref.fd, .events = POLLIN },
			keeper_ending_events(k),
			{ .fd = k->in.lock, .events = POLLIN },
		};
		int got = 1, error = await_events(wait, ARRAY_SIZE(wait), most_ms(k));

		if (error)
			return error;
		if (keeper_kept_left_ms(k) == 0)
			keeper_drop_kept(k);
		if (wait[1].revents)
			read_signals(k);
		if (wait[5].revents)
			target_lock_answer(k->in.lock);
		if (wait[0].revents)
			got = serve(k);
		if (got > 0 && !k->finished)
			got = tick(k) ? 0 : 1;
		if (got <= 0)
			return got ? got : -EPIPE;
	}
	return 0;
}

/*
 * Takes out of a forked process what can be without an analyst; its words in any
 * case. 0, -EAGAIN an analyst's proof is needed for the rest, -errno.
 */
static int leave_child_alone(struct keeper *child)
{
	struct inject *in = &child->in;
	int error = inject_leave(in, INJECT_ENTRIES);

	if (error)
		return error;
	error = keeper_check_filter_again(child);
	if (!error)
		error = inject_leave(in, INJECT_ARM);
	if (!error && in->at.loader == LOADER_MAP) {
		use_sample(child, false);
		return inject_leave(in, INJECT_RECORD);
	}
	return !error || error == -ETIME ? -EAGAIN : error;
}

/* With the clock and the signals of k; 0 or -errno. */
static int leave_child(struct keeper *k, struct keeper *child)
{
	int error = leave_child_alone(child), socket;

	if (error != -EAGAIN || !k->options->begin_child)
		return error;
	socket = k->options->begin_child(k->options->context);
	if (socket < 0)
		return socket;
	child->socket = socket;
	child->deadline_ns = tracee_now_ns() + CHILD_LIMIT_NS;
	(void)loop(child);
	k->options->end_child(k->options->context);
	cleanup_fd(&socket);
	if (child->in.done > INJECT_LOAD && loader_locks_stuck(&child->in.at.target) > 0)
		return -EDEADLK;
	return child->in.done > INJECT_LOAD ? -ETIME : 0;
}

/* Its analyst's last request has wiped the words of the one that failed. */
static void explain_child(struct keeper *child, int error)
{
	char *problem = child->in.problem;
	size_t room = sizeof(child->in.problem);

	if (error == -EDEADLK)
		(void)snprintf(problem, room, LOADER_LOCKS_STUCK);
	else if (error == -ETIME && child->in.done > INJECT_QUIESCE && child->in.quiesce.blocker)
		(void)snprintf(problem, room, "thread %d may still be inside a hooked call; the "
			       "hooks do nothing meanwhile", child->in.quiesce.blocker);
	else if (error && !problem[0])
		(void)snprintf(problem, room, "%s", error == -ETIME ?
			       "no moment came at which taking the shim out is safe" :
			       why_of(error).text);
}

/* What the target forked off while we were in it. The target itself is left already. */
static void restore_children(struct keeper *k)
{
	static struct keeper child;
	uint64_t begin_ns = tracee_now_ns();
	int error;

	if (k->slow && keeper_set_clock(k->timer, KEEPER_TICK_MS) == 0)	/* theirs, too */
		k->slow = false;
	children_remember(&k->children, &k->in);	/* when it ended, nobody has yet */
	if (k->freeze.child && children_skip(&k->children, k->freeze.child))
		return;
	for (;;) {
		spare_clear(&child, sizeof(child));
		child.freeze.mem = child.freeze.maps = child.freeze.pagemap = -1;
		child.signals = k->signals;
		child.timer = k->timer;
		child.is_child = true;
		child.seccomp = k->seccomp;	/* if it has the same filters */
		if (children_next(&k->children, &k->in.at.target, &child.in) <= 0)
			break;
		error = leave_child(k, &child);
		explain_child(&child, error);
		children_note(&k->children, &child.in, error);
		if (k->options->tell_child)
			k->options->tell_child(k->options->context, child.in.at.target.ref.pid);
		stop_sample_done(&child.sample);
		inject_done(&child.in);
	}
	log_debug("%u forked processes restored, %u not, after %llu us", k->children.left.restored,
		  k->children.left.count,
		  (unsigned long long)(tracee_now_ns() - begin_ns) / 1000);
}

static int open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR1);		/* sent by the front only where it was asked for */
	(void)sigaddset(&set, SIGUSR2);		/* sent by memattachd */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * The analyst is gone without having finished. The hooks come out at once; the
 * rest needs an analyst's proof when the shim came in by dlopen.
 */
static void leave_alone(struct keeper *k, const struct keeper_options *options)
{
	int socket, error;

	children_remember(&k->children, &k->in);
	if (k->in.at.control)	/* nobody may wait for a reader that is not there */
		k->in.at.control->mode = RING_MODE_OFF;
	if (options->end_analyst)
		options->end_analyst(options->context);
	keeper_drop_kept(k);	/* nothing stands still for an analyst that is gone */
	keeper_mind_restarts(k);
	freeze_kill(&k->freeze);
	keeper_ending_over(k);
	(void)launch_release(&k->in.at.target);
	error = k->gone ? 0 : inject_leave(&k->in, INJECT_ARM);
	if (k->gone || error == -ESRCH)
		return;
	if (!error && k->in.at.loader == LOADER_DLOPEN && k->in.done > INJECT_LOAD &&
	    options->respawn) {
		socket = options->respawn(options->context);
		if (socket < 0)
			return;
		k->socket = socket;
		k->leaving = 0;		/* it has as much time as the first had */
		k->silence.total = 0;
		(void)loop(k);
		cleanup_fd(&socket);
		return;
	}
	if (!error && keeper_check_filter_again(k) == 0) {
		use_sample(k, false);
		(void)inject_leave(&k->in, INJECT_RECORD);
	}
}

int keeper_run(struct target *target, const struct keeper_options *options,
	       struct keeper_result *ret)
{
	static struct keeper keeper;	/* some 150 KiB: the payload, the plan */
	struct keeper *k = &keeper;
	int error = tracee_init();

	memset(ret, 0, sizeof(*ret));
	spare_clear(k, sizeof(*k));
	if (!error)
		error = inject_init(&k->in, target);
	if (error)
		return error;
	k->options = options;
	k->in.at.unhurried = options->unhurried;
	k->rest_due = KEEPER_FIRST_REST_TICKS;
	k->freeze.mem = k->freeze.maps = k->freeze.pagemap = -1;
	k->socket = options->socket;
	k->status = -1;
	k->signals = open_signals();
	k->timer = keeper_open_clock();
	keeper_look_at_filters(k);
	keeper_read_name(k);
	error = k->signals < 0 || k->timer < 0 ? -EMFILE : loop(k);
	access_watch_done(&k->access);
	ret->analyst_died = !k->finished;
	ret->analyst_hung = k->hung;
	if (!k->finished)
		leave_alone(k, options);
	keeper_ending_over(k);
	(void)launch_release(&k->in.at.target);
	if (keeper_thaw(k))
		log_error("a dead child of memattach's is left in process %d; `memattach cleanup "
			  "-p %d` removes it", k->in.at.target.ref.pid, k->in.at.target.ref.pid);
	if (!k->children_told && !options->alone) {
		restore_children(k);
		ret->left = k->children.left;
	}
	ret->status = k->status;
	ret->dormant = !k->gone && pidref_alive(&k->in.at.target.ref) &&
		       (k->in.done > INJECT_LOAD || k->freeze.child);
	memcpy(ret->problem, k->in.problem, sizeof(ret->problem));
	stop_sample_done(&k->sample);
	children_done(&k->children);
	inject_done(&k->in);
	cleanup_fd(&k->signals);
	cleanup_fd(&k->timer);
	return error == -EPIPE ? 0 : error;
}
