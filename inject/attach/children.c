/* SPDX-License-Identifier: MIT */
/*
 * children.c - finding what fork copied, and making it ready to be restored.
 *
 * A copy is known by the kernel's word: a younger process in whose maps the
 * inode of our shim's memfd stands where we mapped it. Its parent says nothing:
 * a child's child may be nobody's by now. Every pass lists all processes anew
 * until one finds nothing: who was copied before its original was restored is
 * found in the next. The target comes first and never waits for any of this.
 * What the journal says of the target's words is true of the copies, because
 * they are copies; words that differ are left alone as ever. A journal that we
 * read from the target is not used for others: they are compared with their
 * files (orphan.c). Following forks by PTRACE_O_TRACEFORK instead was rejected:
 * it would stop the target at each of them and die with us.
 */
#include "inject/attach/children.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "inject/abi/memfd_names.h"
#include "inject/preflight/preflight.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"
#include "src/base/why.h"

#define ALL_LIMIT_NS 60000000000ull
#define BLIND_PASSES 25u	/* in which processes could not be looked at; then it is said */
#define BLIND_PAUSE_NS 20000000

static bool is_file(const struct procmap *map, const struct child_file *file)
{
	return file->inode && map->inode == file->inode && map->dev_major == file->dev_major &&
	       map->dev_minor == file->dev_minor && memfd_path_is_ours(map->path);
}

/* The file behind fd; adopted: what the kernel says is mapped at address. */
static struct child_file file_of(const struct procmaps *maps, int fd, uint64_t address)
{
	const struct procmap *map = address ? procmaps_find(maps, address) : NULL;
	struct stat file;

	if (fd >= 0 && fstat(fd, &file) == 0)
		return (struct child_file){ major(file.st_dev), minor(file.st_dev), file.st_ino };
	if (map && memfd_path_is_ours(map->path))
		return (struct child_file){ map->dev_major, map->dev_minor, map->inode };
	return (struct child_file){ 0, 0, 0 };
}

/* What pid runs; "self" for pid 0. Nothing: not known. */
static struct child_file program_of(pid_t pid)
{
	char path[64] = "/proc/self/exe";
	struct stat file;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &file) < 0)
		return (struct child_file){ 0, 0, 0 };
	return (struct child_file){ major(file.st_dev), minor(file.st_dev), file.st_ino };
}

static bool is_same_file(const struct child_file *a, const struct child_file *b)
{
	return a->inode && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

/*
 * A copy runs the target's program. Fronts, keepers and analysts of many sessions run ours: to read
 * the maps of all of them in each session was half of the work of three hundred.
 */
static struct child_file own_program(const struct target *target)
{
	const struct child_file own = program_of(0), theirs = program_of(target->ref.pid);

	return theirs.inode && !is_same_file(&own, &theirs) ? own : (struct child_file){ 0, 0, 0 };
}

static int dup_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void children_remember(struct children *c, const struct inject *in)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct attachment *a = &in->at;

	if (c->known || in->done <= INJECT_LOAD)
		return;
	(void)!procmaps_read(a->target.maps, &maps);	/* it may have ended */
	c->adopted = a->shim_fd < 0;
	c->shim = file_of(&maps, a->shim_fd,
			  a->island_count ? a->island[0].address : a->shim_base);
	c->ring = file_of(&maps, a->ring_fd, a->ring_base);
	c->known = c->shim.inode || c->ring.inode;
	c->own = own_program(&a->target);
	c->since = a->journal.owner_start_time;
	c->from = *a;
	c->from.target = TARGET_NONE;
	c->from.control = NULL;
	c->from.clock = NULL;
	c->from.remote_fd[0] = c->from.remote_fd[1] = -1;
	if (a->ring_base)
		c->from.ring_place = a->ring_base;
	c->from.shim_fd = dup_fd(a->shim_fd);
	c->from.ring_fd = dup_fd(a->ring_fd);
}

void children_done(struct children *c)
{
	if (c->known) {
		cleanup_fd(&c->from.shim_fd);
		cleanup_fd(&c->from.ring_fd);
	}
	if (c->pass)
		(void)closedir(c->pass);
	free(c->seen);
	memset(c, 0, sizeof(*c));
}

/* The shim anywhere; the ring only where the target had it: we map it too, elsewhere. */
static bool has_copy(const struct children *c, const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (is_file(&maps->map[i], &c->shim) ||
		    (maps->map[i].start == c->from.ring_place && is_file(&maps->map[i], &c->ring)))
			return true;
	return false;
}

/*
 * error, where it is the machine that refuses, and not a process that has ended or is another
 * user's: that may pass, and nothing is known of the process till then. Else 0.
 */
static int refusal(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EIO ? error :
											   0;
}

/*
 * Asked by number, of the program that pid runs now. 1, 0, or what refusal() says. What can't be
 * read otherwise is not known to be ours.
 */
static int is_copy(const struct children *c, pid_t pid)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = -1;
	pid_t tid = proc_live_thread(pid);
	char path[64];
	int error;

	if (tid <= 0)
		return refusal(tid);
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? -errno : procmaps_read(fd, &maps);
	return error ? refusal(error) : has_copy(c, &maps);
}

/* vfork, CLONE_VM: the target's own memory, restored or not as the target is. */
static bool shares_memory(const struct target *target, pid_t pid)
{
	pid_t tid = proc_live_thread(target->ref.pid), other = proc_live_thread(pid);

	return tid > 0 && other > 0 && pidref_alive(&target->ref) &&
	       syscall(SYS_kcmp, tid, other, KCMP_VM, 0, 0) == 0;
}

static bool was_seen(const struct children *c, const struct child_seen *child)
{
	for (size_t i = 0; i < c->seen_count; i++)
		if (c->seen[i].pid == child->pid && c->seen[i].start_time == child->start_time)
			return true;
	return false;
}

/* What is remembered is not found again. 0 or -ENOMEM. */
static int remember_seen(struct children *c, const struct child_seen *child)
{
	struct child_seen *grown = reallocarray(c->seen, c->seen_count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[c->seen_count++] = *child;
	c->seen = grown;
	return 0;
}

int children_skip(struct children *c, pid_t pid)
{
	struct child_seen child = { .pid = pid };
	int error = pidref_read_start_time(pid, &child.start_time);

	return error == -ENOMEM || !error ? remember_seen(c, &child) : 0;
}

/* Is it one of memattach's? */
static bool is_own(const struct children *c, pid_t pid)
{
	const struct child_file program = c->own.inode ? program_of(pid) :
							 (struct child_file){ 0, 0, 0 };

	return is_same_file(&program, &c->own);
}

/*
 * 1, 0, or what refusal() says. Cheap questions first: the maps of processes that are older than we
 * are stay unread.
 */
static int is_new_copy(const struct children *c, const struct target *target,
		       struct child_seen *child)
{
	int error, copy;

	if (child->pid <= 0 || child->pid == getpid() || child->pid == target->ref.pid)
		return 0;
	error = pidref_read_start_time(child->pid, &child->start_time);
	if (error)
		return refusal(error);
	if (child->start_time < c->since || was_seen(c, child) || is_own(c, child->pid))
		return 0;
	copy = is_copy(c, child->pid);
	return copy > 0 ? !shares_memory(target, child->pid) : copy;
}

static struct dirent *next_entry(struct children *c)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(c->pass);
	if (!entry && errno)
		c->blind = errno;
	return entry;
}

/* The next one in this pass; false: it is over. */
static bool find_in_pass(struct children *c, const struct target *target, struct child_seen *ret)
{
	struct dirent *entry;

	while (c->pass && (entry = next_entry(c))) {
		int found;

		ret->pid = (pid_t)strtol(entry->d_name, NULL, 10);
		found = is_new_copy(c, target, ret);
		if (found > 0)
			return true;
		if (found < 0)
			c->blind = -found;
	}
	if (c->pass)
		(void)closedir(c->pass);
	c->pass = NULL;
	return false;
}

static void pass_begin(struct children *c)
{
	c->pass = opendir("/proc");
	c->pass_found = false;
	c->blind = c->pass ? 0 : errno;
}

/* A pass has found none. Is there to be another, as not all could be looked at? */
static bool look_again(struct children *c)
{
	const struct timespec pause = { 0, BLIND_PAUSE_NS };

	c->left.unread = 0;
	if (c->blind == 0)
		return false;
	if (++c->blind_passes < BLIND_PASSES) {
		(void)nanosleep(&pause, NULL);
		return true;
	}
	c->left.unread = c->blind;
	return false;
}

/* The next one; false: a whole pass over all processes found none that is new. */
static bool find_copy(struct children *c, const struct target *target, struct child_seen *ret)
{
	for (;;) {
		if (!c->pass)
			pass_begin(c);
		if (find_in_pass(c, target, ret))
			return c->pass_found = true;
		if (!c->pass_found && !look_again(c))
			return false;
	}
}

static void note_left(struct children *c, pid_t pid, const char *reason)
{
	struct children_left *left = &c->left;

	if (left->count < CHILDREN_LISTED) {
		left->child[left->count].pid = pid;
		(void)snprintf(left->child[left->count].reason,
			       sizeof(left->child[left->count].reason), "%.250s", reason);
	}
	left->count++;
}

/* Of what the target had, what the child's own maps confirm; the rest is not there. */
static void keep_confirmed(const struct children *c, const struct procmaps *maps,
			   struct attachment *a)
{
	const struct procmap *map = procmaps_find(maps, c->from.ring_place);
	uint32_t kept = 0;

	a->ring_base = map && is_file(map, &c->ring) ? c->from.ring_place : 0;
	a->shim_base = 0;
	for (size_t i = 0; i < maps->count && !a->shim_base; i++)
		if (is_file(&maps->map[i], &c->shim) && maps->map[i].offset == 0)
			a->shim_base = maps->map[i].start;
	for (uint32_t i = 0; i < c->from.island_count; i++) {
		map = procmaps_find(maps, c->from.island[i].address);
		if (map && is_file(map, &c->shim))
			a->island[kept++] = c->from.island[i];
	}
	a->island_count = kept;
}

/* An attachment to the child, from the target's. 0 or -errno. */
static int copy_attachment(const struct children *c, struct inject *in)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	struct attachment *a = &in->at;
	struct target target = a->target;
	int error = inject_enter(in, INJECT_LOCK);

	if (!error)
		error = procmaps_read(target.maps, &maps);
	if (!error && !has_copy(c, &maps))	/* until the lock was ours it was another's */
		error = -ESRCH;
	if (error)
		return error;
	*a = c->from;
	a->target = target;
	a->shim_fd = dup_fd(c->from.shim_fd);
	a->ring_fd = dup_fd(c->from.ring_fd);
	keep_confirmed(c, &maps, a);
	a->pending = false;
	a->inside = 0;
	(void)adopt_descriptors(a);
	for (uint32_t i = 0; i < a->journal.patch_count; i++)
		a->journal.patch[i].state = RING_PATCH_INTENDED;
	in->done = a->journal.patch_count ? INJECT_STEPS : INJECT_LOAD + 1;
	return 0;
}

/* 0: *ret can be left; -errno with ret->problem: it can't be opened. */
static int prepare(struct children *c, struct pidref *ref, struct inject *ret)
{
	struct target target = TARGET_NONE;
	int error = target_open(ref, &target);

	if (error) {
		pidref_done(ref);
		return error;
	}
	error = inject_init(ret, &target);
	if (!error)
		error = c->adopted ? inject_adopt(ret, &c->from.plan) : copy_attachment(c, ret);
	return error;
}

/* What stands in the way of stopping a thread of it; then its words are all that we restore. */
static bool is_refused(const struct pidref *ref, char *reason, size_t room)
{
	static const struct preflight_options options = { .expect_attached = true };
	struct preflight_report report = { .code = PREFLIGHT_OK };

	if (preflight_check(ref, &options, &report) || report.code == PREFLIGHT_OK)
		return false;
	(void)snprintf(reason, room, "%.200s", report.reason);
	return true;
}

/* Opens child. 1 *ret can be left, 0 it is gone or was noted as left, -EALREADY another's. */
static int open_child(struct children *c, const struct child_seen *child, struct inject *ret)
{
	struct pidref ref = PIDREF_NONE;
	char reason[252] = "";
	bool refused;
	int error = pidref_open(child->pid, &ref);

	if (refusal(error))
		note_left(c, child->pid, why_of(error).text);
	if (error)
		return 0;
	if (ref.start_time != child->start_time) {
		pidref_done(&ref);
		return 0;
	}
	memset(ret, 0, sizeof(*ret));
	ret->lock = ret->at.ring_fd = ret->at.shim_fd = -1;
	ret->at.target = TARGET_NONE;
	refused = is_refused(&ref, reason, sizeof(reason));
	error = prepare(c, &ref, ret);
	if (!error && !refused)
		return 1;
	if (error == -EALREADY && (c->adopted || tracee_now_ns() < c->deadline_ns)) {
		inject_done(ret);
		return c->adopted ? 0 : -EALREADY;	/* adopted: its living keeper's */
	}
	if (!error)	/* its entries at least: then nothing leads into the shim any more */
		(void)inject_leave(ret, INJECT_ENTRIES);
	if (refused)
		memcpy(ret->problem, reason, sizeof(reason));
	ret->at.target.ref.pid = child->pid;
	children_note(c, ret, error);
	inject_done(ret);
	return 0;
}

/* Who was at another's hands is looked at again. True: there was one. */
static bool forget_busy(struct children *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->seen_count; i++)
		if (!c->seen[i].busy)
			c->seen[kept++] = c->seen[i];
	if (kept == c->seen_count)
		return false;
	c->seen_count = kept;
	return true;
}

/* One that was found. As open_child; -ENOMEM. */
static int try_child(struct children *c, struct child_seen *child, struct inject *ret)
{
	int error = remember_seen(c, child), got;

	if (error)
		return error;
	if (tracee_now_ns() > c->deadline_ns) {
		note_left(c, child->pid, "there was no time left to restore it");
		return 0;
	}
	got = open_child(c, child, ret);	/* has waited for the other's lock */
	c->seen[c->seen_count - 1].busy = got == -EALREADY;
	return got == -EALREADY ? 0 : got;
}

int children_next(struct children *c, const struct target *target, struct inject *ret)
{
	struct child_seen child = { .busy = false };
	int got = 0;

	if (!c->known)
		return 0;
	if (!c->deadline_ns)
		c->deadline_ns = tracee_now_ns() + ALL_LIMIT_NS;
	do {
		while (!got && find_copy(c, target, &child))
			got = try_child(c, &child, ret);
	} while (!got && forget_busy(c));
	return got;
}

static void note_alive(struct children_left *left, pid_t pid)
{
	if (left->alive_count < CHILDREN_LISTED)
		left->alive[left->alive_count] = pid;
	left->alive_count++;
}

void children_note(struct children *c, const struct inject *child, int error)
{
	pid_t pid = child->at.target.ref.pid;
	int copy = is_copy(c, pid);

	/* restored, ended, or running another program by now */
	if (copy == 0 || (copy < 0 && !error)) {
		c->left.restored++;
		if (copy == 0 && pidref_alive(&child->at.target.ref))
			note_alive(&c->left, pid);
		return;
	}
	note_left(c, pid, child->problem[0] ? child->problem :
		  why_of(error ?: -EUCLEAN).text);
}
