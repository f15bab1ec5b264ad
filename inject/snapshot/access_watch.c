/* SPDX-License-Identifier: MIT */
/*
 * access_watch.c - see access_watch.h.
 *
 * One event for each thread and word; the events of a thread write into one ring, which is never
 * read until they are ended, and is large enough for all hits that they are allowed
 * (PERF_EVENT_IOC_REFRESH): it never wraps, and nothing in it has to be understood here.
 * Rejected: inherit, which would cover new threads at once, but needs an event for each
 * processor as well, or goes without records; threads are listed anew for each moment instead.
 * ptrace's debug registers stop the thread at each hit. Giving the events to the analyst
 * would let it watch other words than these.
 */
#include "inject/snapshot/access_watch.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/arch/x86_64/access_regs.h"
#include "inject/attach/sealed_copy.h"
#include "inject/tracee/proc_status.h"
#include "src/base/why.h"

#define PAGE 4096u
#define RECORD_BYTES (ACCESS_STACK_BYTES + 256u)	/* of one hit, at the most */
#define SPARE_RECORDS 2u	/* of one slot: hits on their way while it is being ended */
#define TOP_ADDRESS (1ull << 47)
#define SPARE_FDS 64u

struct access_ring {
	pid_t tid;
	void *map;
	int fd[ACCESS_SLOTS];		/* -1: this slot is not watched */
	uint64_t id[ACCESS_SLOTS];
};

static int open_event(struct perf_event_attr *attr, pid_t tid)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct perf_event_attr attributes(const struct access_slot *slot)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.bp_type = slot->writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW,
		.bp_addr = slot->address,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = ACCESS_REGS_MASK,
		.sample_stack_user = ACCESS_STACK_BYTES,
		.disabled = 1,
		.exclude_hv = 1,
	};
}

/* ---- can it be had at all? ---- */

/* Some virtual machines grant debug registers that do nothing: a word of our own tells. */
static int test_breakpoints(void)
{
	volatile uint64_t word __attribute__((aligned(8))) = 0;
	struct access_slot slot = { .address = (uint64_t)(uintptr_t)&word, .writes_only = 1 };
	struct perf_event_attr attr = attributes(&slot);
	_cleanup_fd_ int fd = -1;
	uint64_t count = 0;

	attr.exclude_kernel = 1;
	fd = open_event(&attr, 0);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	word = 1;
	if (read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return -EIO;
	return count ? 0 : -ENXIO;
}

static void explain_permission(char *reason, size_t room)
{
	uint64_t level = 0;

	if (proc_read_number("/proc/sys/kernel/perf_event_paranoid", "", &level) == 0 && level > 2)
		(void)snprintf(reason, room, "the kernel refuses perf_event_open "
			       "(kernel.perf_event_paranoid is %llu); run memattach as root or "
			       "with CAP_PERFMON", (unsigned long long)level);
	else
		(void)snprintf(reason, room, "perf_event_open is refused, by a container's filter "
			       "or a security module; run memattach as root outside of it");
}

void access_watch_explain(int error, char *reason, size_t room)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		explain_permission(reason, room);
		break;
	case -ENOSPC:
		(void)snprintf(reason, room, "the processor's debug registers are taken, by the "
			       "process itself, a debugger or perf");
		break;
	case -ENOSYS:
	case -ENODEV:
	case -ENOENT:
	case -EOPNOTSUPP:
		(void)snprintf(reason, room, "this kernel or machine has no hardware breakpoints");
		break;
	case -ENXIO:
		(void)snprintf(reason, room, "hardware breakpoints do not fire on this machine");
		break;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		(void)snprintf(reason, room, "there is no room for its events (open files: ulimit "
			       "-n, locked memory: ulimit -l)");
		break;
	default:
		(void)snprintf(reason, room, "%s", why_of(error).text);
	}
}

/* ---- one thread ---- */

/* With accesses by the kernel on its behalf, where we may see them. */
static int open_slot(struct access_watch *watch, const struct access_slot *slot, pid_t tid)
{
	struct perf_event_attr attr = attributes(slot);
	int fd;

	attr.exclude_kernel = watch->without_kernel;
	fd = open_event(&attr, tid);
	if ((fd != -EACCES && fd != -EPERM) || attr.exclude_kernel)
		return fd;
	attr.exclude_kernel = 1;
	fd = open_event(&attr, tid);
	watch->without_kernel = fd >= 0;
	return fd;
}

static void close_ring(const struct access_watch *watch, struct access_ring *ring)
{
	if (ring->map)
		(void)munmap(ring->map, PAGE + watch->ring_bytes);
	for (size_t i = 0; i < ACCESS_SLOTS; i++)
		cleanup_fd(&ring->fd[i]);
	ring->map = NULL;
}

/* The first event of a thread has the ring, the others write into it. */
static int join_ring(const struct access_watch *watch, struct access_ring *ring, int fd,
		     int first)
{
	void *map;

	if (first >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0 ? -errno : 0;
	map = mmap(NULL, PAGE + watch->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno == EPERM ? -ENOMEM : -errno;	/* the limit of locked memory */
	ring->map = map;
	return 0;
}

/*
 * The mask of slots that are watched on this thread; 0 none, *ret_refusal says why (also
 * why one of several is not).
 */
static uint32_t open_ring(struct access_watch *watch, const struct access_begin *request,
			  struct access_ring *ring, int *ret_refusal)
{
	uint32_t mask = 0;
	int first = -1;

	for (uint32_t i = 0; i < ACCESS_SLOTS; i++)
		ring->fd[i] = -1;
	for (uint32_t i = 0; i < request->count; i++) {
		int fd = open_slot(watch, &request->slot[i], ring->tid);
		int error = fd < 0 ? fd : join_ring(watch, ring, fd, first);

		if (!error && ioctl(fd, PERF_EVENT_IOC_ID, &ring->id[i]) < 0)
			error = -errno;
		if (error) {
			if (fd != first)
				cleanup_fd(&fd);
			*ret_refusal = error;
			continue;
		}
		ring->fd[i] = fd;
		first = first < 0 ? fd : first;
		mask |= 1u << i;
	}
	if (!mask)
		close_ring(watch, ring);
	return mask;
}

/* ---- all of them ---- */

/* Descriptors for that many threads; the limit is raised as far as it goes. How many it is for. */
static size_t room_for(size_t threads)
{
	struct rlimit limit;
	size_t fds;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	if (limit.rlim_cur < threads * ACCESS_SLOTS + SPARE_FDS &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = threads * ACCESS_SLOTS + SPARE_FDS < limit.rlim_max ?
				 threads * ACCESS_SLOTS + SPARE_FDS : limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		(void)getrlimit(RLIMIT_NOFILE, &limit);
	}
	fds = limit.rlim_cur > SPARE_FDS ? (size_t)limit.rlim_cur - SPARE_FDS : ACCESS_SLOTS;
	return fds / ACCESS_SLOTS < threads ? fds / ACCESS_SLOTS : threads;
}

/* Brings wanted of them, by chance, to the front. */
static void choose(pid_t *tid, size_t count, size_t wanted)
{
	struct timespec now;
	uint64_t state;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	state = (uint64_t)now.tv_nsec << 20 | 1;
	for (size_t i = 0; i < wanted && wanted < count; i++) {
		size_t other;
		pid_t held = tid[i];

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		other = i + (size_t)(state >> 33) % (count - i);
		tid[i] = tid[other];
		tid[other] = held;
	}
}

static uint32_t hits_for(size_t threads)
{
	size_t hits = ACCESS_WORD_HITS / (threads ? threads : 1);

	return hits < 1 ? 1 : hits > ACCESS_MAX_HITS ? ACCESS_MAX_HITS : (uint32_t)hits;
}

static size_t ring_bytes_for(uint32_t slots, uint32_t hits)
{
	size_t bytes = PAGE;

	while (bytes < (size_t)slots * (hits + SPARE_RECORDS) * RECORD_BYTES)
		bytes *= 2;
	return bytes;
}

static void start(const struct access_watch *watch, uint32_t hits)
{
	for (size_t i = 0; i < watch->count; i++)
		for (uint32_t slot = 0; slot < ACCESS_SLOTS; slot++)
			if (watch->ring[i].fd[slot] >= 0)
				(void)ioctl(watch->ring[i].fd[slot], PERF_EVENT_IOC_REFRESH, hits);
}

static bool is_sound(const struct access_begin *request)
{
	if (request->count == 0 || request->count > ACCESS_SLOTS)
		return false;
	for (uint32_t i = 0; i < request->count; i++)
		if (request->slot[i].address % ACCESS_WORD_BYTES ||
		    request->slot[i].address >= TOP_ADDRESS)
			return false;
	return true;
}

/* On each of tid[0 .. count); 0 or the refusal, if none could be watched. */
static int open_all(struct access_watch *watch, const struct access_begin *request,
		    const pid_t *tid, size_t count, struct access_began *ret)
{
	int refusal = -ESRCH;

	for (size_t i = 0; i < count; i++) {
		struct access_ring *ring = &watch->ring[watch->count];
		int error = 0;
		uint32_t mask;

		*ring = (struct access_ring){ .tid = tid[i] };
		mask = open_ring(watch, request, ring, &error);
		ret->slots |= mask;
		watch->count += mask != 0;
		if (error == -ENOSPC)
			ret->limits |= ACCESS_NO_SLOT;
		if (error && error != -ESRCH)
			refusal = error;
		if (error == -ENOMEM || error == -EMFILE || error == -ENFILE) {
			ret->limits |= ACCESS_NO_MEMORY;
			break;	/* nor is there for the next */
		}
	}
	return watch->count ? 0 : refusal;
}

static int test_once(struct access_watch *watch)
{
	int error = watch->tested ? 0 : test_breakpoints();

	watch->tested = error == 0;
	return error;
}

int access_watch_begin(const struct target *target, const struct access_begin *request,
		       struct access_watch *watch, struct access_began *ret)
{
	struct access_began began = { .threads = 0 };
	_cleanup_free_ pid_t *tid = NULL;
	size_t there, wanted;
	int count, error;

	access_watch_done(watch);
	if (!is_sound(request))
		return -EINVAL;
	error = test_once(watch);
	if (error)
		return error;
	count = proc_list_threads(target->ref.pid, &tid);
	if (count < 0)
		return count;
	there = (size_t)count;
	wanted = room_for(there < ACCESS_MAX_THREADS ? there : ACCESS_MAX_THREADS);
	if (wanted < there && wanted < ACCESS_MAX_THREADS)
		began.limits |= ACCESS_NO_MEMORY;
	choose(tid, there, wanted);
	watch->ring = calloc(wanted + 1, sizeof(*watch->ring));
	if (!watch->ring)
		return -ENOMEM;
	began.hits = hits_for(wanted);
	watch->ring_bytes = ring_bytes_for(request->count, began.hits);
	error = open_all(watch, request, tid, wanted, &began);
	if (error) {
		access_watch_done(watch);
		return error;
	}
	start(watch, began.hits);
	began.threads = (uint32_t)watch->count;
	began.threads_there = (uint32_t)there;
	began.limits |= watch->without_kernel ? ACCESS_NO_KERNEL : 0;
	*ret = began;
	return 0;
}

/* ---- the end ---- */

static void stop(const struct access_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		for (uint32_t slot = 0; slot < ACCESS_SLOTS; slot++)
			if (watch->ring[i].fd[slot] >= 0)
				(void)ioctl(watch->ring[i].fd[slot], PERF_EVENT_IOC_DISABLE, 0);
}

/* What the kernel has written. Its data_tail stays 0: it stops at the end of the ring. */
static size_t written(const struct access_watch *watch, const struct access_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map;
	/* pairs with the kernel's store after the records */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	return head < watch->ring_bytes ? (size_t)head : watch->ring_bytes;
}

static size_t note_threads(struct access_watch *watch)
{
	size_t bytes = 0;

	for (size_t i = 0; i < watch->count; i++) {
		struct access_thread *thread = &watch->thread[i];

		*thread = (struct access_thread){
			.tid = watch->ring[i].tid,
			.bytes = (uint32_t)written(watch, &watch->ring[i]),
		};
		memcpy(thread->id, watch->ring[i].id, sizeof(thread->id));
		bytes += thread->bytes;
	}
	return bytes;
}

int access_watch_end(struct access_watch *watch)
{
	_cleanup_free_ uint8_t *copy = NULL;
	size_t bytes, done = 0;

	stop(watch);
	bytes = note_threads(watch);
	copy = malloc(bytes + 1);
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < watch->count; i++) {
		memcpy(copy + done, (const uint8_t *)watch->ring[i].map + PAGE,
		       watch->thread[i].bytes);
		done += watch->thread[i].bytes;
	}
	return sealed_copy("accesses", copy, bytes);
}

void access_watch_done(struct access_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		close_ring(watch, &watch->ring[i]);
	free(watch->ring);
	watch->ring = NULL;
	watch->count = 0;
}
