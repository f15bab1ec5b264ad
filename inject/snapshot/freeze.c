/* SPDX-License-Identifier: MIT */
/*
 * freeze.c - see freeze.h.
 *
 * The child is made with CLONE_FILES: a connection that the target closes is closed,
 * though the child lives. Then it gives the table up (picture_calls.c); where it can't, and the
 * target ends or starts another program (freeze_is_stale), the child must go at once, for it
 * holds what is left of that table. It has no exit
 * signal: the target gets no SIGCHLD, and its wait calls don't see the child; one that
 * waits for all kinds (__WALL) finds "still running", and never the child itself, which is
 * waited for while all threads stand still. It dies with us (EXITKILL), and should it be
 * let go before that is set, its stack makes it exit at once. Either way a zombie is left,
 * which takes a process id and nothing else, until `memattach cleanup`.
 * Rejected: copying the memory during the stop (0.4 s per 1.8 GB), a plain fork (holds
 * every descriptor, raises SIGCHLD, runs atfork handlers if made by libc's), and CLONE_FS
 * (setns would fail in the target meanwhile, and an exec would not take on a file's owner).
 */
#include "inject/snapshot/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/attach/load.h"
#include "inject/attach/ring_setup.h"
#include "inject/preflight/preflight.h"
#include "inject/preflight/seccomp_check.h"
#include "inject/snapshot/picture_calls.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/threads.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"
#include "inject/tracee/userfault.h"
#include "src/base/log.h"
#include "src/base/pagemap.h"

#define STOP_BUDGET_NS 20000000ull	/* doubles every 3 tries, up to 160 ms */
#define CHILD_LIMIT_NS 2000000000ull
#define BETWEEN_TRIES_NS 30000000ull	/* at least; a long stop is followed by a longer run */
#define WARM_LIMIT_NS 200000000ull	/* 10 us a megabyte */
enum { SHARED_TRIES = 10, SHARED_LOOKS = 40, WARM_WORDS = 4096, WARM_RANGES = 512, MAX_LEFT = 64 };
enum { QUIET_REAP_TRIES = 4, MAX_STOP_DOUBLINGS = 3, REAP_FAILURES = 5, CALL_FAULTS = 4 };

/* One pass over the threads: there are pauses between ours. */
static struct borrow_request request_for(const struct freeze_gadgets *gadgets)
{
	return (struct borrow_request){
		.allow = BORROW_ALLOW_ANY,
		.syscall_ret = gadgets->syscall_ret,
		.restorer = gadgets->restorer,
		.stack_room = FRAME_MAX_BYTES,
	};
}

/* How long everything may stand still in this try. */
static uint64_t stop_budget(unsigned int try)
{
	return STOP_BUDGET_NS << (try / 3 < MAX_STOP_DOUBLINGS ? try / 3 : MAX_STOP_DOUBLINGS);
}

/* The target has at least twice the time that the last try may have cost it. */
static void pause_between(unsigned int try)
{
	uint64_t pause = 2 * stop_budget(try);

	if (pause < BETWEEN_TRIES_NS)
		pause = BETWEEN_TRIES_NS;
	(void)nanosleep(&(struct timespec){ 0, (long)pause }, NULL);
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The borrowed one stands in a call of ours: what it held before is what it was found with. */
static int copy_vectors(const struct borrow *b, struct freeze *f)
{
	int error = vectors_add_all(&f->vectors, f->thread, f->thread_count,
				    b ? b->request.tid : 0);

	if (!error && b && b->mode == BORROW_USER && (long)b->original.orig_rax < 0)
		error = vectors_add(&f->vectors, b->request.tid, b->xstate, b->xstate_bytes);
	return error;
}

/* The registers of all threads; those of the borrowed one are what it will get back. */
static int copy_threads(const struct stop_all *stop, const struct borrow *b, struct freeze *f)
{
	size_t count = stop_all_threads(stop, NULL, 0);

	f->thread = calloc(count + 1, sizeof(*f->thread));
	if (!f->thread)
		return -ENOMEM;
	f->thread_count = stop_all_threads(stop, f->thread, count);
	for (size_t i = 0; b && i < f->thread_count; i++)
		if (f->thread[i].tid == b->request.tid)
			f->thread[i].registers = b->original;
	return copy_vectors(b, f);
}

static void forget_threads(struct freeze *f)
{
	free(f->thread);
	f->thread = NULL;
	f->thread_count = 0;
	vectors_done(&f->vectors);
}

/* Private writable memory; a child has all of it but what is MADV_DONTFORK. 0: unknown. */
static uint64_t data_kib(pid_t pid)
{
	uint64_t kib = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return proc_read_number(path, "VmData:", &kib) == 0 ? kib : 0;
}

/* Files of the process, or thread, whose memory is the picture. */
static int open_picture(struct freeze *f, pid_t pid)
{
	f->mem = open_of(pid, "mem");
	f->maps = open_of(pid, "maps");
	f->pagemap = open_of(pid, "pagemap");
	return f->mem < 0 ? f->mem : f->maps < 0 ? f->maps : 0;
}

/* As root, or the target's own user. */
static bool write_oom_score(pid_t child)
{
	_cleanup_fd_ int fd = -1;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", child);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "1000", 4) == 4;
}

/* When memory runs out it goes before the target that it is a copy of; its parent's stays. */
static void offer_to_oom(const struct freeze *f, const struct freeze_gadgets *gadgets)
{
	if (!write_oom_score(f->child) &&
	    !(f->own_files && picture_offer_to_oom(f->child, gadgets->syscall_ret)))
		log_debug("process %d: no score for it to be ended before the target", f->child);
}

/* Makes it last as long as we live and no longer, and opens it. */
static int hold_child(const struct freeze_gadgets *gadgets, struct freeze *f)
{
	struct tracee_stop stop;
	int error = tracee_wait(f->child, tracee_now_ns() + CHILD_LIMIT_NS, &stop);

	f->dead = error == -ESRCH;	/* waited for: its number is no longer ours */
	if (!error)
		error = tracee_die_with_us(f->child);
	if (error)
		return error;
	f->own_files = picture_drop_files(f->child, gadgets->syscall_ret);
	offer_to_oom(f, gadgets);
	f->complete = f->data_kib && f->data_kib == data_kib(f->child);
	return open_picture(f, f->child);
}

/*
 * By one and the same process? A vfork child is gone in a moment, and who waits for it can't be
 * stopped anyway; where one follows the other there may be one at each look.
 */
static bool is_shared_for_long(const struct target *target)
{
	pid_t one = sharers_find(target);
	int of_one = 1;

	for (int look = 1; one && look < SHARED_LOOKS && of_one < SHARED_TRIES; look++) {
		pause_between(0);
		if (sharers_is_one(target, one)) {
			of_one++;
		} else {
			one = sharers_find(target);
			of_one = 1;
		}
	}
	return of_one == SHARED_TRIES;
}

/* After unshare(CLONE_NEWPID) the first child is the init of a namespace that ends with it. */
static bool has_namespace_for_children(const struct target *target)
{
	char path[64], own[64], children[64];
	ssize_t got[2];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", target->ref.pid);
	got[0] = readlink(path, own, sizeof(own));
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", target->ref.pid);
	got[1] = readlink(path, children, sizeof(children));
	/* an empty link: made by unshare, and nobody is in it yet */
	return got[0] > 0 && (got[1] != got[0] || memcmp(own, children, (size_t)got[0]) != 0);
}

static int refuse(char *reason, size_t room, const char *why)
{
	(void)snprintf(reason, room, "%s; --snapshot=stop reads it while it stands still", why);
	return 1;
}

int freeze_check(const struct target *target, char *reason, size_t room)
{
	struct preflight_report report;
	uint64_t anonymous;
	char path[64];
	int error;

	if (userfault_may_be_served(target))
		return refuse(reason, room, "it has a userfaultfd, which would see a copy of it");
	if (has_namespace_for_children(target))
		return refuse(reason, room, "its next child founds a pid namespace, which a copy "
			      "of it would take with it");
	if (is_shared_for_long(target))
		return refuse(reason, room, "another process shares its memory (CLONE_VM)");
	(void)snprintf(path, sizeof(path), "/proc/%d/status", target->ref.pid);
	error = proc_read_number(path, "RssAnon:", &anonymous);
	if (error)
		return error == -ENODATA ? -ESRCH : error;
	error = preflight_check_copy(&target->ref, anonymous * 1024, &report);
	if (error || report.code == PREFLIGHT_OK)
		return error;
	(void)snprintf(reason, room, "%s; %s", report.reason, report.remedy);
	return 1;
}

static void warm_pages(const struct pagemap *pagemap, uint64_t low, uint64_t high, uint64_t end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = low / page, last = high / page, word[WARM_WORDS];

	for (; at < last && tracee_now_ns() < end; at += WARM_WORDS) {
		size_t count = last - at < WARM_WORDS ? last - at : WARM_WORDS;

		if (pread(pagemap->fd, word, count * sizeof(*word),
			  (off_t)(at * sizeof(*word))) <= 0)
			break;
	}
}

/* Which pages there are can be asked for by range; that alone does not look at them. */
static void warm_map(const struct pagemap *pagemap, const struct procmap *map, uint64_t end)
{
	struct pagemap_range range[WARM_RANGES];
	uint64_t at = map->start;

	while (at < map->end && tracee_now_ns() < end) {
		int count = pagemap_next(pagemap, &at, map->end, range, WARM_RANGES);

		if (count < 0)
			return;
		for (int i = 0; pagemap->way == PAGEMAP_BY_RANGE && i < count; i++)
			warm_pages(pagemap, range[i].low, range[i].high, end);
	}
}

/*
 * Has the kernel look at every page that it is about to share, while all run: what it then
 * does to each of them finds its words in the cache. A fifth of the pause of a large target.
 */
static void warm_up(const struct target *target)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	uint64_t end = tracee_now_ns() + WARM_LIMIT_NS;
	struct pagemap pagemap;

	pagemap_init(&pagemap, target->pagemap);
	if (pagemap.way == PAGEMAP_UNKNOWN || procmaps_read(target->maps, &maps))
		return;
	for (size_t i = 0; i < maps.count && tracee_now_ns() < end; i++)
		if ((maps.map[i].prot & PROCMAP_W) && !(maps.map[i].prot & PROCMAP_SHARED))
			warm_map(&pagemap, &maps.map[i], end);
}

static void note_longest(uint64_t us, uint64_t *longest)
{
	if (us > *longest)
		*longest = us;
}

/* All others stand still, too, for the clone and nothing else. */
static int copy_on(const struct target *target, const struct sharers_seen *seen,
		   struct borrow *b, uint64_t budget_ns, struct freeze *f)
{
	struct target held = *target;	/* what it owns stays target's */
	struct stop_all *stop = NULL;
	int error, end = 0;
	uint64_t us;

	held.held = b->request.tid;
	error = stop_all_begin(&held, budget_ns, &stop);
	if (error)
		return error;
	f->tsc = ring_setup_tsc();
	/* who shares its memory would go on writing; nobody can come any more */
	error = sharers_exist_since(target, seen) ? -EAGAIN : copy_threads(stop, b, f);
	if (!error)
		error = borrow_clone(b, SECCOMP_CHECK_COPY_FLAGS, FREEZE_CHILD_STATUS, &f->child,
				     &f->remote);
	f->data_kib = f->child ? data_kib(target->ref.pid) : 0;
	/* before the others, who would compete with it for a processor */
	if (borrow_held(b))
		end = borrow_end(b);
	stop_all_end(stop, &us, NULL);
	f->pause_us = borrow_held_us(b);
	note_longest(us, &f->pause_us);
	return error ? error : end;
}

static int freeze_copy(const struct target *target, const struct freeze_gadgets *gadgets,
		       unsigned int try, struct freeze *f)
{
	static struct borrow b;		/* 40 KiB; one keeper, one thread */
	struct borrow_request request = request_for(gadgets);
	struct sharers_seen seen;
	int error, one;

	request.process_files = true;	/* the child has the borrowed thread's */
	sharers_look(target, &seen);	/* before anybody stands still */
	transfers_wait(target);
	error = threads_borrow(target, &request, &b);
	if (error)
		return error;
	error = copy_on(target, &seen, &b, stop_budget(try), f);
	if (borrow_held(&b)) {
		one = borrow_end(&b);
		error = error ? error : one;
	}
	if (f->child) {
		one = hold_child(gadgets, f);
		error = error ? error : one;
	}
	(void)abandon_release();
	return error;
}

/* A moment later it may work. */
static bool is_passing(int error)
{
	return error == -EAGAIN || error == -ETIME || error == -ENOTSUP;
}

/* Tries until the deadline; it must not have a child by then. */
static int freeze_copies(const struct target *target, const struct freeze_gadgets *gadgets,
			 uint64_t deadline_ns, struct freeze *f)
{
	int error = -EAGAIN;

	warm_up(target);
	for (unsigned int try = 0; is_passing(error) && !f->child; try++) {
		forget_threads(f);
		error = freeze_copy(target, gadgets, try, f);
		if (tracee_now_ns() >= deadline_ns)
			break;
		if (is_passing(error) && !f->child)
			pause_between(try);
	}
	return error;
}

static int freeze_stop(const struct target *target, uint64_t deadline_ns, struct freeze *f)
{
	int error = -ETIME;

	for (unsigned int try = 0; error == -ETIME; try++) {
		error = stop_all_begin(target, stop_budget(try), &f->stop);
		if (error == -ETIME && tracee_now_ns() >= deadline_ns)
			break;
		if (error == -ETIME)
			pause_between(try);
	}
	f->tsc = ring_setup_tsc();
	if (!error)
		error = copy_threads(f->stop, NULL, f);
	if (error)
		return error;
	return open_picture(f, f->thread_count ? f->thread[0].tid : target->ref.pid);
}

int freeze_begin(const struct target *target, const struct freeze_gadgets *gadgets,
		 enum freeze_way way, uint64_t deadline_ns, struct freeze *ret)
{
	*ret = (struct freeze){ .way = way, .mem = -1, .maps = -1, .pagemap = -1 };
	return way == FREEZE_STOP ? freeze_stop(target, deadline_ns, ret) :
				    freeze_copies(target, gadgets, deadline_ns, ret);
}

int freeze_standing(struct stop_thread *thread, size_t count, struct freeze *ret)
{
	int error;

	*ret = (struct freeze){ .way = FREEZE_STANDING, .thread = thread, .thread_count = count,
				.complete = true, .mem = -1, .maps = -1, .pagemap = -1 };
	ret->tsc = ring_setup_tsc();
	error = vectors_add_all(&ret->vectors, thread, count, 0);
	return error ? error : open_picture(ret, thread[0].tid);
}

static bool has_no_memory(pid_t pid)
{
	struct proc_thread_status status;

	return proc_read_status(pid, &status) != 0 || !status.has_memory;
}

bool freeze_is_stale(const struct target *target, const struct freeze_gadgets *gadgets,
		     const struct freeze *f)
{
	pid_t tid;

	if ((!f->child || f->dead) && !f->stop)
		return false;
	tid = proc_live_thread(target->ref.pid);
	if (tid <= 0 || f->stop)
		return tid <= 0;
	if (f->own_files)	/* another program is in its place; or the picture was killed */
		return remote_is_gone(target, gadgets->syscall_ret) || has_no_memory(f->child);
	/* > 0: another table; where the kernel won't tell, the end of the target still shows */
	return syscall(SYS_kcmp, tid, f->child, KCMP_FILES, 0, 0) > 0;
}

/*
 * Dead, but nobody has been told: a zombie that is traced is there for its tracer only. Its user is
 * the target's, whom we may not send signals to; its tracer may always end it.
 */
static int kill_child(const struct freeze *f)
{
	uint64_t end = tracee_now_ns() + CHILD_LIMIT_NS;
	siginfo_t info;
	int error = 0;

	for (;;) {
		(void)!tracee_kill(f->child);	/* not waited for yet: still this process */
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)f->child, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
			return errno == ECHILD ? 0 : -errno;
		if (info.si_pid || error)
			return info.si_pid ? 0 : error;
		error = tracee_wait_any(end);
	}
}

void freeze_kill(struct freeze *f)
{
	cleanup_fd(&f->mem);
	cleanup_fd(&f->maps);
	cleanup_fd(&f->pagemap);
	forget_threads(f);
	f->mem = f->maps = f->pagemap = -1;
	if (f->stop)
		stop_all_end(f->stop, &f->pause_us, NULL);
	f->stop = NULL;
	if (f->child && !f->dead)
		(void)kill_child(f);
}

/* Our part of its end: from here on the target could see it, and has to wait for it. */
static void forget_child(struct freeze *f)
{
	struct tracee_stop stop;
	int error = 0;

	while (!error && !f->dead)
		error = tracee_wait(f->child, tracee_now_ns() + CHILD_LIMIT_NS, &stop);
	f->dead = f->dead || error == -ESRCH;
}

/* The injected call itself. f: also our own wait comes here; NULL: a zombie of earlier. */
static int wait_on(struct borrow *b, pid_t remote, struct freeze *f)
{
	uint64_t arguments[6] = { (uint64_t)remote, 0, __WCLONE | WNOHANG, 0, 0, 0 };
	int64_t result = 0;
	int error;

	if (f)
		forget_child(f);
	if (f && !f->dead)
		return -EAGAIN;
	error = borrow_syscall(b, SYS_wait4, arguments, &result);
	if (error)
		return error;
	/* the target may have waited with __WALL itself */
	return result == remote || result == -ECHILD ? 0 : -EAGAIN;
}

/* budget_ns 0: the other threads run on. */
static int wait_quietly(const struct target *target, struct borrow *b, uint64_t budget_ns,
			pid_t remote, struct freeze *f)
{
	struct target held = *target;
	struct stop_all *stop = NULL;
	uint64_t us = 0;
	int error = 0, end = 0;

	held.held = b->request.tid;
	if (budget_ns)
		error = stop_all_begin(&held, budget_ns, &stop);
	if (!error)
		error = wait_on(b, remote, f);
	if (borrow_held(b))
		end = borrow_end(b);
	stop_all_end(stop, &us, NULL);
	if (f) {
		note_longest(borrow_held_us(b), &f->reap_us);
		note_longest(us, &f->reap_us);
	}
	return error ? error : end;
}

/* Waits for the dead child in the target's name. */
static int reap_in_target(const struct target *target, const struct freeze_gadgets *gadgets,
			  uint64_t budget_ns, pid_t remote, struct freeze *f)
{
	static struct borrow b;
	struct borrow_request request = request_for(gadgets);
	int error;

	/* another program is in its place: where do its calls lie? */
	error = load_gadgets_check(target, gadgets->syscall_ret, gadgets->restorer);
	if (error)
		return error;
	if (budget_ns)
		transfers_wait(target);
	error = threads_borrow(target, &request, &b);
	if (!error)
		error = wait_quietly(target, &b, budget_ns, remote, f);
	(void)abandon_release();
	return error;
}

/* The child as the target sees it, should its own clone not have said. */
static pid_t remote_of(const struct freeze *f)
{
	struct proc_thread_status status;

	if (f->remote || proc_read_status(f->child, &status) != 0)
		return f->remote;
	return status.ns_pid ? status.ns_pid : f->child;
}

/* The dead child stays until it is waited for: what failed otherwise is tried again some times. */
static bool may_reap(int error, unsigned int *failures)
{
	return is_passing(error) ||
	       (error != -ESRCH && error != -ESTALE && ++*failures < REAP_FAILURES);
}

int freeze_end(const struct target *target, const struct freeze_gadgets *gadgets,
	       uint64_t deadline_ns, struct freeze *f)
{
	unsigned int failures = 0;
	int error = -EAGAIN;

	freeze_kill(f);
	if (!f->child)
		return 0;
	f->remote = remote_of(f);
	for (unsigned int try = 0; f->remote && may_reap(error, &failures); try++) {
		if (try > 0 && !f->dead)
			(void)kill_child(f);
		error = reap_in_target(target, gadgets,
				       try < QUIET_REAP_TRIES ? stop_budget(try) : 0, f->remote, f);
		if (!error || tracee_now_ns() >= deadline_ns)
			break;
		pause_between(try);
	}
	forget_child(f);	/* also where nobody in the target waits for it */
	if (!error || error == -ESRCH)
		f->child = f->remote = 0;
	return f->child ? error : 0;
}

/* Fields of /proc/PID/stat by their numbers in proc(5); state is field 3. */
enum { STAT_STATE = 3, STAT_FAULTS = 10, STAT_USER = 14, STAT_KERNEL = 15, STAT_EXIT_SIGNAL = 38,
       STAT_EXIT_CODE = 52, STAT_FIELDS = 53 };

static int read_stat(pid_t pid, char *ret_state, unsigned long long field[STAT_FIELDS])
{
	char path[64], text[1024], *at, *end;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	cleanup_fd(&fd);
	text[got < 0 ? 0 : got] = '\0';
	at = strrchr(text, ')');	/* the name before it may hold anything */
	if (!at || sscanf(at + 1, " %c", ret_state) != 1)
		return -ESRCH;
	at += 3;
	for (int i = STAT_STATE + 1; i < STAT_FIELDS; i++, at = end) {
		field[i] = strtoull(at, &end, 10);
		if (end == at)
			return -ENODATA;
	}
	return 0;
}

/*
 * What tells a picture's remains from a child of the target's own. One that was killed has touched
 * no pages but those of one system call (its text, the area of rseq, which the kernel writes to),
 * so it has run no code; its end may have taken a tick of the kernel's time.
 */
static bool is_left_picture(pid_t pid)
{
	unsigned long long field[STAT_FIELDS];
	char state;

	if (read_stat(pid, &state, field) != 0 || state != 'Z' || field[STAT_EXIT_SIGNAL] != 0 ||
	    field[STAT_USER] != 0)
		return false;
	return (field[STAT_FAULTS] <= CALL_FAULTS && field[STAT_EXIT_CODE] == SIGKILL) ||
	       (field[STAT_KERNEL] == 0 && field[STAT_EXIT_CODE] == FREEZE_CHILD_STATUS << 8);
}

/* Children of one thread that are pictures' remains, as the target sees them. */
static size_t list_left(pid_t pid, pid_t tid, pid_t *ret, size_t room)
{
	struct proc_thread_status status;
	size_t count = 0;
	char path[64];
	FILE *file;
	int child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	file = fopen(path, "re");
	while (file && count < room && fscanf(file, "%d", &child) == 1)
		if (is_left_picture(child) && proc_read_status(child, &status) == 0)
			ret[count++] = status.ns_pid ? status.ns_pid : child;
	if (file)
		(void)fclose(file);
	return count;
}

int freeze_reap_left(const struct target *target, const struct freeze_gadgets *gadgets,
		     uint64_t deadline_ns)
{
	_cleanup_free_ pid_t *tids = NULL;
	int threads = proc_list_threads(target->ref.pid, &tids), reaped = 0, error = 0;
	pid_t left[MAX_LEFT];

	for (int i = 0; !error && i < threads; i++) {
		size_t count = list_left(target->ref.pid, tids[i], left, MAX_LEFT);

		for (size_t k = 0; !error && k < count; k++, reaped++)
			error = tracee_now_ns() < deadline_ns ?
					reap_in_target(target, gadgets, 0, left[k], NULL) : -ETIME;
	}
	return threads < 0 ? threads : error ? error : reaped;
}
