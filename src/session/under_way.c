/* SPDX-License-Identifier: MIT */
/*
 * under_way.c - see under_way.h.
 *
 * A thread is in no such call if it has allocated twice since (once may be a part of that call:
 * memalign asks malloc), or if it waits in a system call that no allocator makes, or runs
 * code that is none of an allocator's library, and not ours. Unless it is in a signal
 * handler: what that interrupted may be anything, and collectors stop threads by signals for
 * long. Handlers show by the address that they return to, on the stack.
 * Locks are futexes: an allocator's lie in its library's data, or where an arena begins (glibc);
 * a jemalloc with a thread in it is torn for its walker.
 *
 * It refuses to believe what is not on the list: then another picture is taken, and calls
 * of an allocator are short.
 *
 * Rejected: to unwind each thread, since an entry point may be left by a tail jump, and the
 * functions behind it have no names in a stripped library; to wait for a while, which proves
 * nothing of a thread that gets no processor.
 */
#include "src/session/under_way.h"

#include <sys/syscall.h>

#define HANDLER_REACH	16384u	/* a handler's frames, below the signal's */
#define ARENA_HEAD	4096u
#define ARENA_HEAPS	(64u << 20)	/* glibc's are aligned to it */

static bool is_wait(long number)
{
	static const short waits[] = {
		SYS_read, SYS_write, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6,
		SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep,
		SYS_accept, SYS_accept4, SYS_connect, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
		SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_readv, SYS_writev, SYS_pread64,
		SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_sendfile, SYS_splice, SYS_wait4,
		SYS_waitid, SYS_pause, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_io_getevents,
		SYS_io_uring_enter, SYS_msgrcv, SYS_msgsnd, SYS_semop, SYS_semtimedop,
		SYS_mq_timedreceive, SYS_mq_timedsend, SYS_flock, SYS_fsync, SYS_fdatasync,
		SYS_ioctl, SYS_restart_syscall, SYS_exit, SYS_exit_group,
	};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i] == number)
			return true;
	return false;
}

/* In the library of an allocator, or in what we have put there. */
static bool is_allocators(const struct under_way *w, uint64_t address)
{
	const struct module *module = modules_find(w->modules, address);

	for (uint32_t i = 0; i < w->plan->island_count; i++)
		if (address - w->plan->island[i].address < w->plan->island[i].pages * 4096ull)
			return true;
	if (!module)
		return false;
	if (module->kind == MODULE_SHIM)
		return true;
	for (uint32_t i = 0; i < w->plan->entry_count; i++) {
		const struct hook_entry *entry = &w->plan->entry[i];

		if (w->plan->family[entry->family].kind == HOOK_FAMILY_MALLOC &&
		    entry->address >= module->low && entry->address < module->high)
			return true;
	}
	return false;
}

/* The lock of an arena is in the first page of its heap; the program's own may be, too. */
static bool is_allocators_lock(const struct under_way *w, uint64_t address)
{
	const struct procmap *map = procmaps_find(&w->picture->maps, address);

	if (is_allocators(w, address))
		return true;
	return map && !map->inode && !(map->prot & PROCMAP_SHARED) &&
	       (address - map->start < ARENA_HEAD || address % ARENA_HEAPS < ARENA_HEAD);
}

static bool in_handler(const struct under_way *w, const struct picture_thread *thread)
{
	uint64_t word[512];

	for (uint64_t at = 0; at < HANDLER_REACH; at += sizeof(word)) {
		size_t got = picture_read_some(w->picture, thread->registers.rsp + at, word,
					       sizeof(word));

		for (size_t i = 0; i < got / sizeof(word[0]); i++)
			if (word[i] == w->plan->gadget_restorer)
				return true;
		if (got < sizeof(word))
			break;
	}
	return false;
}

static bool may_be_inside(const struct under_way *w, const struct picture_thread *thread)
{
	long number = (long)thread->registers.orig_rax;

	if (live_thread_allocs(w->live, thread->registers.fs_base) > 1)
		return false;
	if (in_handler(w, thread))
		return true;
	if (number < 0)
		return is_allocators(w, thread->registers.rip);
	if (number == SYS_futex)
		return is_allocators_lock(w, thread->registers.rdi);
	return !is_wait(number);
}

bool under_way(const struct under_way *input)
{
	for (size_t i = 0; i < input->picture->thread_count; i++)
		if (may_be_inside(input, &input->picture->thread[i]))
			return true;
	return false;
}
