/* SPDX-License-Identifier: MIT */
/*
 * load.c - see load.h.
 *
 * The borrowed thread makes two memfds; we open them through /proc/PID/fd, fill
 * them, and it maps and closes them: no descriptor of ours is left. The ring
 * comes first, because the journal in it then already says what will be mapped
 * where; every address is chosen here and taken with MAP_FIXED_NOREPLACE. By
 * dlopen the shim becomes an object like any other for debuggers and unwinders;
 * `map` places the same file without any help of the target's libc.
 */
#include "inject/attach/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/attach/deadline.h"
#include "inject/attach/dlopen_files.h"
#include "inject/attach/island_jumps.h"
#include "inject/attach/journal.h"
#include "inject/attach/load_seen.h"
#include "inject/attach/ring_setup.h"
#include "inject/attach/shim_image.h"
#include "inject/attach/shim_name.h"
#include "inject/attach/text_pages.h"
#include "inject/quiesce/loader_locks.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/steps.h"
#include "inject/tracee/threads.h"
#include "inject/tracee/tsc_allowed.h"
#include "src/base/give_back.h"
#include "src/base/log.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24	/* Linux 5.18 */
#endif
#define PAGE 4096ull
#define CALL_LIMIT_NS 3000000000ull
#define HELD_LIMIT_NS 60000000000ull	/* of a program that is being started */
#define REACH (1ull << 30)

static struct borrow_request request_for(const struct attachment *a, uint64_t deadline_ns)
{
	return (struct borrow_request){
		.allow = BORROW_ALLOW_ANY,
		.syscall_ret = a->plan.gadget_syscall_ret,
		.restorer = a->plan.gadget_restorer,
		.deadline_ns = deadline_ns,
	};
}

/* The thread that will do the work: the proven one in its proven state, else the best there is. */
static int borrow_for(const struct attachment *a, const struct load_options *options,
		      bool process_files, struct borrow *ret)
{
	struct borrow_request request = request_for(a, options->deadline_ns);

	request.process_files = process_files;
	/* dlopen and dlclose on a thread proven safe only: one that we start has begun nothing */
	if (!options->proven && !a->target.held && a->loader == LOADER_DLOPEN &&
	    (a->shim_base || !a->control))
		return -EPERM;
	if (a->target.held && a->loader == LOADER_DLOPEN)
		request.stack_room = THREADS_CALL_STACK;
	if (!options->proven)
		return threads_borrow(&a->target, &request, ret);
	request.tid = options->proven->tid;
	request.allow = BORROW_ALLOW_BLOCKED | BORROW_ALLOW_RESTART_BLOCK;
	if (options->proven->kept_ns)	/* it stands where it was proven, also if it ran */
		request.allow |= BORROW_ALLOW_USER;
	request.stack_room = THREADS_CALL_STACK;
	request.expect = &options->proven->registers;
	request.expect_stack = options->proven->stack;
	request.expect_stack_bytes = options->proven->stack_bytes;
	request.stopped_ns = options->proven->kept_ns;
	options->proven->kept_ns = 0;	/* the borrow's from here on */
	return borrow_begin(&a->target, &request, ret);
}

/* The target's pid as it knows it itself. */
static pid_t own_pid_of(const struct target *target)
{
	struct proc_thread_status status;

	return proc_read_status(target->ref.pid, &status) ? target->ref.pid : status.ns_pid;
}

static int map_ring_here(struct attachment *a)
{
	void *mapping;

	if (ftruncate(a->ring_fd, (off_t)a->geometry.total_bytes) < 0)
		return -errno;
	/* who could shrink it could make the target fault */
	if (fcntl(a->ring_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	mapping = mmap(NULL, a->geometry.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       a->ring_fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	a->control = mapping;
	a->control_bytes = a->geometry.total_bytes;
	ring_setup_control(a->control, &a->geometry);
	a->control->pid = (uint64_t)own_pid_of(&a->target);
	return 0;
}

/* What is or will be mapped where: written before any of it is. */
static void write_journal(struct attachment *a)
{
	struct ring_journal *j = &a->journal;
	uint64_t shim = a->shim_base ? a->shim_base : a->shim_place;

	j->ring_base = a->ring_place;
	j->ring_bytes = a->geometry.total_bytes;
	j->shim_base = shim;
	j->shim_bytes = a->layout.total_bytes;
	j->shim_root = shim ? shim + a->layout.root : 0;
	j->hooks_low = a->layout.hooks_low;
	j->hooks_high = a->layout.hooks_high;
	j->dl_handle = a->dl_handle;
	j->hooks_suspended = hook_plan_has_custom(&a->plan) ? (uint32_t)a->layout.hooks_custom : 0;
	j->loader = a->loader;
	j->island_count = a->plan.island_count;
	for (uint32_t i = 0; i < j->island_count; i++)
		j->island[i] = (struct ring_island){ a->plan.island[i].address,
						     a->plan.island[i].pages * PAGE };
	j->owner_pid = (uint32_t)getpid();
	(void)pidref_read_start_time(getpid(), &j->owner_start_time);
	a->control->journal = *j;
}

/* Image, then one zeroed stretch per island, in the shim's memfd. */
static int fill_shim_file(struct attachment *a)
{
	uint64_t total = a->layout.file_bytes;

	for (uint32_t i = 0; i < a->plan.island_count; i++)
		total += a->plan.island[i].pages * PAGE;
	if (ftruncate(a->shim_fd, (off_t)total) < 0)
		return -errno;
	if (fcntl(a->shim_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -errno;
	if (pwrite(a->shim_fd, shim_image_start, shim_image_bytes(), 0) !=
	    (ssize_t)shim_image_bytes())
		return -EIO;
	return 0;
}

/* The plan's word is not enough for code that a thread of the target will run. */
int load_gadgets_check(const struct target *target, uint64_t syscall_ret, uint64_t restorer)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0xc3 };
	static const uint8_t restore[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	int error = remote_expect(target, syscall_ret, call, sizeof(call));

	return error ? error : remote_expect(target, restorer, restore, sizeof(restore));
}

static int by_start(const void *a, const void *b)
{
	const struct procmap *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* The places that the plan gives to islands count as mapped: nothing else goes there. */
static int add_islands(const struct attachment *a, struct procmaps *maps)
{
	size_t count = maps->count + a->plan.island_count;
	struct procmap *map = reallocarray(maps->map, count + 1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	maps->map = map;
	for (uint32_t i = 0; i < a->plan.island_count; i++) {
		const struct hook_island *island = &a->plan.island[i];

		map[maps->count++] = (struct procmap){
			.start = island->address, .path = "",
			.end = island->address + island->pages * PAGE,
		};
	}
	qsort(map, count, sizeof(*map), by_start);
	return 0;
}

/* Free places for ring and (map loader) shim; the islands' places come with the plan. */
static int choose_addresses(struct attachment *a)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	uint64_t shim_bytes, bytes, near = a->plan.gadget_syscall_ret;
	uint64_t clearance = a->plan.clearance;
	int error = procmaps_read(a->target.maps, &maps);

	if (!error)
		error = add_islands(a, &maps);
	if (error)
		return error;
	shim_bytes = a->loader == LOADER_MAP ? a->layout.total_bytes : 0;
	bytes = a->geometry.total_bytes + 2 * PAGE + shim_bytes;
	a->ring_place = procmaps_find_hole(&maps, near, near + 1, bytes + 2 * clearance,
					   64 * REACH);
	/* below a heap that begins where a static program ends there is little, above it is far */
	if (!a->ring_place)
		a->ring_place = procmaps_find_hole(&maps, near, near + 1, bytes + 2 * clearance,
						   UINT64_MAX);
	if (!a->ring_place)
		return -ENOMEM;
	a->ring_place += clearance + PAGE;
	if (shim_bytes)
		a->shim_place = a->ring_place + a->geometry.total_bytes + PAGE;
	return 0;
}

static int map_at(struct borrow *b, uint64_t address, uint64_t bytes, uint64_t protection,
		  uint64_t flags, int fd, uint64_t offset)
{
	uint64_t fixed = flags & MAP_FIXED ? 0 : MAP_FIXED_NOREPLACE;
	uint64_t arguments[6] = { address, bytes, protection, flags | fixed,
				  (uint64_t)(int64_t)fd, offset };
	uint64_t got = 0;
	int error = borrow_call(b, SYS_mmap, arguments, &got);

	if (!error && got != address)
		error = -EEXIST;
	return error;
}

/*
 * Another file may have been under our descriptor's number, and be mapped now, or be none that can
 * be: error of the call that mapped it, or -EBADF.
 */
static int confirm(const struct attachment *a, const struct borrow *b, enum remote_memfd which,
		   int error)
{
	int other = borrow_held(b) ? remote_memfd_confirm(a, b, which, a->remote_fd[which]) :
				     0;

	return other ? other : error;
}

static int advise(struct borrow *b, uint64_t address, uint64_t bytes, uint64_t advice)
{
	uint64_t arguments[6] = { address, bytes, advice, 0, 0, 0 };

	return borrow_call(b, SYS_madvise, arguments, NULL);
}

/*
 * Guards: pages that nobody may read or write lie on both sides of the memory that the target may
 * write. Else its own memory error, which would end it there, would go on in ours. They are
 * mappings of the same file, so the kernel names them as ours.
 *
 * Each place is noted before anything is mapped there: a call whose result was not seen may have
 * been made. What is not there is forgotten on the way out (load_forget_foreign()).
 */
static int place_by_map(struct attachment *a, struct borrow *b)
{
	int error;

	a->shim_base = a->shim_place;
	error = map_at(b, a->shim_place, a->layout.total_bytes, PROT_NONE, MAP_PRIVATE,
		       a->remote_fd[1], 0);
	a->seen.shim = !error;
	if (!error)
		error = map_at(b, a->shim_place, a->layout.text_bytes, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED, a->remote_fd[1], 0);
	error = confirm(a, b, REMOTE_SHIM, error);
	if (error)
		return error;
	/* the segment that a loader would write to, and the root page: one range without holes */
	return map_at(b, a->shim_base + a->layout.text_bytes,
		      a->layout.data_end - a->layout.text_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/*
 * A function on the borrowed thread. Who has not come back in time is remembered: until it has gone
 * through its frame, it is not as it was, whatever is mapped.
 */
static int call_function(struct attachment *a, struct borrow *b, uint64_t function,
			 const uint64_t arguments[3])
{
	uint64_t own = b->signal_mask, blocked = borrow_mask(b);
	uint64_t limit = b->held ? HELD_LIMIT_NS : CALL_LIMIT_NS;
	int error = borrow_function(b, function, arguments, tracee_now_ns() + limit);

	if (error == -ETIME && (own & blocked) != blocked) {	/* else it does not show */
		a->inside = b->request.tid;
		a->inside_mask = blocked;
	}
	return error;
}

/* Where the kernel has no answer it is. */
static bool is_still_inside(struct attachment *a)
{
	struct proc_thread_status status;
	int error = a->inside ? proc_read_thread_status(a->target.ref.pid, a->inside, &status) :
				-ESRCH;

	if (error == -ESRCH || error == -ENOENT ||
	    (!error && status.sig_blocked != a->inside_mask))
		a->inside = 0;
	return a->inside != 0;
}

static int place_by_dlopen(struct attachment *a, struct borrow *b)
{
	uint64_t arguments[3] = { 0, a->plan.dlopen_mode, 0 };
	struct dlopen_files files = { .attachment = a, .fd = -1 };
	char path[SHIM_PATH_BYTES];
	int error;

	/* a process cloned from this very thread may be using its thread-local heap cache */
	if (sharers_exist(&a->target) || loader_locks_stuck(&a->target))
		return -EAGAIN;
	shim_name_path(a->remote_fd[1], path);
	error = borrow_put(b, path, strlen(path) + 1, &arguments[0]);
	files.path = path;
	b->see_exit = dlopen_files_see;
	b->seen_by = &files;
	a->half = false;
	if (!error)
		error = call_function(a, b, a->plan.dlopen, arguments);
	b->see_exit = NULL;
	a->stray = files.left;
	a->pending = error == -ETIME;
	if (error && !a->pending)	/* it may have returned all the same */
		a->pending = load_find_shim(a) != 0;
	if (error)
		return error;
	error = load_find_shim(a);
	a->pending = error != 0;	/* it is somewhere, and has to come out */
	if (error)
		return error;
	a->half |= files.failed && a->shim_base;
	if (files.failed || !a->shim_base || a->half)
		return -ELIBACC;
	error = shim_name_replace(&a->target, a->plan.link_map, a->shim_base, path);
	if (error)	/* it is harmless to this program, but not to its debuggers */
		log_debug("the shim's name in the list of modules stays: %d", error);
	return 0;
}

static int map_islands(struct attachment *a, struct borrow *b)
{
	uint64_t offset = a->layout.file_bytes;
	int error = 0;

	for (uint32_t i = 0; !error && i < a->plan.island_count; i++) {
		struct ring_island island = { a->plan.island[i].address,
					      a->plan.island[i].pages * PAGE };

		a->island[a->island_count++] = island;
		error = map_at(b, island.address, island.bytes, PROT_READ | PROT_EXEC, MAP_SHARED,
			       a->remote_fd[1], offset);
		offset += island.bytes;
		a->seen.islands += !error;
	}
	return confirm(a, b, REMOTE_SHIM, error);
}

static int map_ring_there(struct attachment *a, struct borrow *b)
{
	int error;

	a->ring_base = a->ring_place;
	error = map_at(b, a->ring_place - PAGE, a->geometry.total_bytes + 2 * PAGE, PROT_NONE,
		       MAP_PRIVATE, a->remote_fd[0], 0);
	a->seen.ring = !error;
	if (!error)
		error = map_at(b, a->ring_place, a->geometry.total_bytes, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED, a->remote_fd[0], 0);
	return confirm(a, b, REMOTE_RING, error);
}

static int bring_in(struct attachment *a, struct borrow *b)
{
	int error = remote_memfd_make(a, b, REMOTE_RING, &a->ring_fd);

	if (!error)
		error = map_ring_here(a);
	if (!error) {
		write_journal(a);
		error = map_ring_there(a, b);
	}
	if (!error)
		error = remote_memfd_make(a, b, REMOTE_SHIM, &a->shim_fd);
	if (!error)
		error = fill_shim_file(a);
	if (!error)	/* before dlopen, which may map an arena into their place */
		error = map_islands(a, b);
	if (!error)
		error = a->loader == LOADER_MAP ? place_by_map(a, b) :
						  place_by_dlopen(a, b);
	if (!error)
		write_journal(a);
	if (!error)
		error = advise(b, a->shim_base + a->layout.root, PAGE, MADV_WIPEONFORK);
	if (!error)
		error = advise(b, a->ring_base - PAGE, a->geometry.total_bytes + 2 * PAGE,
			       MADV_DONTFORK);
	return error;
}

static void forget(struct attachment *a)
{
	deadline_stop(a->clock);
	a->clock = NULL;
	if (a->control)
		(void)munmap(a->control, a->control_bytes);
	a->control = NULL;
	cleanup_fd(&a->ring_fd);
	cleanup_fd(&a->shim_fd);
	a->ring_fd = a->shim_fd = -1;
}

static int unmap(struct borrow *b, uint64_t address, uint64_t bytes)
{
	uint64_t arguments[6] = { address, bytes, 0, 0, 0, 0 };

	return borrow_call(b, SYS_munmap, arguments, NULL);
}

/* A system call filter has not been asked about the second way: without one only. */
static int drop_page(const struct attachment *a, struct borrow *b, uint64_t page)
{
	struct proc_thread_status status;
	int error = advise(b, page, PAGE, MADV_DONTNEED);

	if (error != -EINVAL || proc_read_status(a->target.ref.pid, &status) < 0 ||
	    status.seccomp != 0)
		return error;
	return advise(b, page, PAGE, MADV_DONTNEED_LOCKED);	/* after mlockall() */
}

/*
 * After the revert the text pages equal the file again: drop our private copies. Those that the
 * program has written to as well stay.
 */
static int drop_text_copies(struct attachment *a, struct borrow *b)
{
	uint64_t page[RING_MAX_PATCHES];
	unsigned int count = journal_pages(&a->journal, page, RING_MAX_PATCHES);
	int error = 0;

	for (unsigned int i = 0; i < count; i++) {
		int one = text_page_confirm(&a->target, &a->journal, page[i]);

		if (one > 0)
			one = drop_page(a, b, page[i]);
		error = error ? error : one;
	}
	return error;
}

static int close_handle(struct attachment *a, struct borrow *b)
{
	uint64_t arguments[3] = { a->dl_handle, 0, 0 };
	int stuck;

	if (!a->dl_handle || !a->plan.dlclose)
		return -ENOTSUP;
	stuck = loader_locks_stuck(&a->target);
	if (stuck)
		return stuck < 0 ? stuck : -EDEADLK;
	if (sharers_exist(&a->target))
		return -EAGAIN;
	return call_function(a, b, a->plan.dlclose, arguments);
}

static int remove_shim(struct attachment *a, struct borrow *b)
{
	int error;

	if (!a->shim_base)
		return 0;
	if (a->loader == LOADER_DLOPEN && !a->half)
		error = close_handle(a, b);
	else
		error = unmap(b, a->shim_base, a->layout.total_bytes);
	if (!error) {
		a->shim_base = 0;
		a->half = false;
	}
	return error;
}

/* Every undo runs, whatever the others return; the first error is the result. */
static int take_out(struct attachment *a, struct borrow *b)
{
	int error = drop_text_copies(a, b), one;

	while (a->island_count) {
		const struct ring_island *last = &a->island[a->island_count - 1];

		one = unmap(b, last->address, last->bytes);
		error = error ? error : one;
		if (one)
			break;
		a->island_count--;
	}
	one = remove_shim(a, b);
	error = error ? error : one;
	one = a->stray.bytes ? unmap(b, a->stray.address, a->stray.bytes) : 0;
	error = error ? error : one;
	if (!one)
		a->stray.bytes = 0;
	one = remote_memfd_close(a, b);
	error = error ? error : one;
	if (error || !a->ring_base)
		return error;
	error = unmap(b, a->ring_low, a->ring_high - a->ring_low);
	if (!error)
		a->ring_base = 0;
	return error;
}

bool load_is_out(const struct attachment *a)
{
	return !a->ring_base && !a->shim_base && !a->stray.bytes && !a->island_count &&
	       a->remote_fd[0] < 0 && a->remote_fd[1] < 0;
}

/* What went in before something failed: out again, by the thread that is still held. */
static void take_back(struct attachment *a, struct borrow *b)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	if (a->pending || (a->loader == LOADER_DLOPEN && a->shim_base && !a->half) ||
	    procmaps_read(a->target.maps, &maps))
		return;
	load_forget_foreign(a, &maps);
	(void)take_out(a, b);	/* what it leaves stays noted */
}

int load_shim(struct attachment *a, const struct load_options *options)
{
	static struct borrow b;		/* 40 KiB; one keeper, one thread */
	int error, undo;

	a->loader = options->loader;
	error = load_gadgets_check(&a->target, a->plan.gadget_syscall_ret,
				   a->plan.gadget_restorer);
	if (!error)
		error = choose_addresses(a);
	if (!error)
		error = borrow_for(a, options, true, &b);
	if (error)
		return error;
	error = options->ask_tsc ? tsc_check_allowed(&b) : 0;
	if (!error)
		error = bring_in(a, &b);
	if (error && borrow_held(&b))
		take_back(a, &b);
	undo = remote_memfd_close(a, &b);
	error = error ? error : undo;
	if (borrow_held(&b)) {
		undo = borrow_end(&b);
		error = error ? error : undo;
	}
	attachment_note_stop(a, borrow_held_us(&b), 1);
	give_back_buffer(&b, sizeof(b));	/* not needed until the way out */
	if (error && (a->loader == LOADER_MAP || (!a->shim_base && !a->pending))) {
		struct load_options any = { .loader = a->loader,
					    .deadline_ns = options->deadline_ns };

		undo = unload_shim(a, &any);	/* what it could not undo stays noted in *a */
	}
	a->seen = (struct load_seen){ 0 };
	return error;
}

/*
 * Every word of the journal is reverted by now. But the program may have moved its text meanwhile,
 * or have put one back that it had copied: while a jump is left, so are the islands.
 */
static int see_nothing_leads_in(struct attachment *a, const struct procmaps *maps)
{
	const struct islands islands = { a->island, a->island_count };
	uint64_t jump, surroundings = islands_surroundings(&islands, maps);
	size_t jumps;
	int error;

	if (a->nothing_leads_in == surroundings)
		return 0;
	error = island_jumps_find(&a->target, &islands, &jump, 1, &jumps);
	if (error)
		return error;
	if (jumps) {
		log_debug("a jump into an island is left at %llx", (unsigned long long)jump);
		return -ETXTBSY;
	}
	a->nothing_leads_in = surroundings;
	return 0;
}

void load_look_ahead(struct attachment *a)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	a->nothing_leads_in = 0;
	if (procmaps_read(a->target.maps, &maps) == 0)
		(void)see_nothing_leads_in(a, &maps);
}

int unload_shim(struct attachment *a, const struct load_options *options)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	static struct borrow b;
	int error, end;

	if (is_still_inside(a))
		return -EBUSY;
	if (load_is_out(a)) {
		forget(a);
		return 0;
	}
	if (a->pending) {	/* a dlopen that had not returned when we let its thread go */
		error = load_find_shim(a);
		/* nothing, or a part only, is what it left if that thread was seen to be back */
		if (error || ((!a->shim_base || a->half) && !a->inside_mask))
			return error ? error : -EBUSY;
		a->pending = false;
	}
	error = procmaps_read(a->target.maps, &maps);
	if (error)
		return error;
	load_forget_foreign(a, &maps);
	if (load_is_out(a)) {
		forget(a);
		return 0;
	}
	error = text_pages_judge(&a->target, &maps, &a->journal);
	if (!error)
		error = see_nothing_leads_in(a, &maps);
	if (!error)	/* what has no descriptor to close is any thread's work */
		error = borrow_for(a, options, a->remote_fd[0] >= 0 || a->remote_fd[1] >= 0, &b);
	if (error)
		return error;
	error = take_out(a, &b);
	if (borrow_held(&b)) {
		end = borrow_end(&b);
		error = error ? error : end;
	}
	attachment_note_stop(a, borrow_held_us(&b), 1);
	if (!error)
		forget(a);
	return error;
}
