/* SPDX-License-Identifier: MIT */
/*
 * safe_thread.c - a call to dlopen takes the loader's lock and allocates. On a
 * thread that holds either, or on one whose stack can't be explained frame by
 * frame, it could wait for itself for ever. So: every frame is looked at, and
 * the other threads are searched for return addresses into the loader, which
 * might hold its lock, and into what writes with an allocator's lock held; where a word looks like
 * one, that thread is unwound, too.
 *
 * A blocked thread inside an allocator has the frame of one of its entries: they wait for locks
 * in functions that are called. A running one may be anywhere, also where an entry has jumped
 * to; it must be outside of all code of the allocator's module, which for libc's is all of libc.
 */
#include "src/session/safe_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/arch/x86_64/call_shape.h"
#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/frame_place.h"
#include "inject/tracee/threads.h"
#include "src/base/log.h"
#include "src/base/pagemap.h"
#include "src/symbolize/frame_names.h"

enum { MAX_SAMPLES = 8, SCAN_BYTES = 64 * 1024, MAX_WRITERS = 4 };

struct search {
	const struct safe_thread_input *in;
	struct safe_thread_place place;	/* of the sample that was looked at last */
	uint64_t loader_low, loader_high;	/* ld.so's code, 0: none */
	struct frame_names_range writer[MAX_WRITERS];	/* in the target */
	size_t writer_count;
	const char *(*objection)(const struct search *s, const struct frame *frame);
	struct thread_candidate thread[256];
	size_t count;
	char *why;
};

static int not_safe(struct search *s, const char *why)
{
	(void)snprintf(s->why, 128, "%s", why);
	return -ENOENT;
}

static void find_loader(struct search *s)
{
	const struct procmaps *maps = &s->in->view->maps;

	for (size_t i = 0; i < maps->count; i++) {
		const char *name = strrchr(maps->map[i].path, '/');

		if (!name || !(maps->map[i].prot & PROCMAP_X) ||
		    (strncmp(name, "/ld-", 4) != 0 && strncmp(name, "/ld.so", 6) != 0))
			continue;
		s->loader_low = maps->map[i].start;
		s->loader_high = maps->map[i].end;
	}
}

/* In the modules of allocators: only glibc's has such functions. */
static void find_writers(struct search *s)
{
	const struct modules *modules = s->in->view->modules;
	const struct module *last = NULL;

	for (uint32_t i = 0; i < s->in->plan->entry_count; i++) {
		const struct module *module = modules_find(modules, s->in->plan->entry[i].address);
		size_t room = MAX_WRITERS - s->writer_count, count;

		if (!module || module == last)
			continue;
		last = module;
		count = frame_names_locked_writers(module, s->writer + s->writer_count, room);
		for (size_t j = 0; j < count; j++) {
			s->writer[s->writer_count + j].low += module->bias;
			s->writer[s->writer_count + j].high += module->bias;
		}
		s->writer_count += count;
	}
}

/* In the dynamic loader, or in what writes with a lock held. */
static bool may_hold_locks(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->writer_count; i++)
		if (address >= s->writer[i].low && address < s->writer[i].high)
			return true;
	return address >= s->loader_low && address < s->loader_high;
}

static bool is_return_into_locked(const struct search *s, uint64_t word)
{
	uint8_t before[CALL_SHAPE_BYTES];

	return may_hold_locks(s, word) &&
	       elf_reader_fd(&s->in->view->mem, word - sizeof(before), before, sizeof(before)) ==
		       0 &&
	       call_shape_ends_with_call(before);
}

/* Is there a word of [at, end) that says so, as far as it can be read? */
static bool words_may_hold_locks(const struct search *s, uint64_t at, uint64_t end)
{
	uint64_t word[512];
	ssize_t got = sizeof(word);

	for (; at < end && got == sizeof(word); at += sizeof(word)) {
		size_t want = end - at < sizeof(word) ? (size_t)(end - at) : sizeof(word);

		got = pread(s->in->view->mem, word, want, (off_t)at);
		for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(word[0]); i++)
			if (is_return_into_locked(s, word[i]))
				return true;
	}
	return false;
}

static bool thread_may_hold_locks(const struct search *s, const struct thread_candidate *t)
{
	const struct procmap *map = procmaps_find(&s->in->view->maps, t->sp);
	uint64_t at = t->sp & ~7ull, end = at + SCAN_BYTES;
	struct pagemap_range range;
	struct pagemap pagemap;

	if (map && end > map->end)
		end = map->end;
	pagemap_init(&pagemap, map && (map->prot & PROCMAP_SHARED) ? -1 : s->in->view->pagemap);
	while (pagemap_stretch(&pagemap, &at, end, &range))
		if (words_may_hold_locks(s, range.low, range.high))
			return true;
	return false;
}

static bool in_allocator(const struct search *s, uint64_t address)
{
	for (uint32_t i = 0; i < s->in->plan->entry_count; i++)
		if (address >= s->in->plan->entry[i].low && address < s->in->plan->entry[i].high)
			return true;
	return false;
}

/* Is frame in a module that has an entry of an allocator? unknown: of one that we do not know. */
static bool in_allocators_module(const struct search *s, const struct frame *frame, bool unknown)
{
	const struct modules *modules = s->in->view->modules;
	const struct hook_plan *plan = s->in->plan;

	for (uint32_t i = 0; i < plan->entry_count; i++) {
		const struct module *module;

		if (unknown && !hook_plan_is_unknown(&plan->family[plan->entry[i].family]))
			continue;
		module = modules_find(modules, plan->entry[i].address);
		if (module && module->id == frame->module)
			return true;
	}
	return false;
}

/* NULL or why this frame forbids it. */
static const char *frame_objection(const struct search *s, const struct frame *frame)
{
	const struct module *module = modules_get(s->in->view->modules, frame->module);
	uint64_t address = frame->offset + (module ? module->bias : 0);

	if (frame->flags & FRAME_SIGNAL)
		return "a signal handler is running";
	if (!module)
		return "a frame belongs to no module";
	if (address >= s->loader_low && address < s->loader_high)
		return "a frame is in the dynamic loader";
	if (in_allocator(s, address))
		return "a frame is in an allocator";
	if (in_allocators_module(s, frame, true))	/* its lock may be held anywhere */
		return "a frame is in the module of an allocator that is not known";
	return frame_names_forbidden(module, frame->offset);
}

/* NULL or why a thread that was stopped as it ran may not do it. */
static const char *running_objection(const struct search *s, const struct frame *frame,
				     uint32_t count)
{
	if (!s->in->running)
		return "it runs";
	/* Where the thread has begun, libc called the program: in the main thread behind _start. */
	if (count > 1)
		count--;
	while (count > 1 && in_allocators_module(s, &frame[count - 1], false))
		count--;
	for (uint32_t i = 0; i < count; i++)
		if (in_allocators_module(s, &frame[i], false))
			return "it runs in an allocator's library";
	return NULL;
}

static const char inside_shim[] = "a frame is in the shim";

static const char *shim_objection(const struct search *s, const struct frame *frame)
{
	const struct module *module = modules_get(s->in->view->modules, frame->module);

	if (!module)
		return "a frame belongs to no module";
	return module->kind == MODULE_SHIM ? inside_shim : NULL;
}

static int check_frames(struct search *s, const struct unwind_input *input,
			const struct user_regs_struct *registers)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	uint32_t count;
	int error = unwinder_walk(s->in->unwinder, input, frame, &count, &end);

	if (error || end != UNWIND_COMPLETE)
		return not_safe(s, "its stack can't be unwound to the end");
	for (uint32_t i = 0; i < count; i++) {
		const char *objection = s->objection(s, &frame[i]);

		if (objection)
			return not_safe(s, objection);
	}
	if (s->objection == frame_objection && !eintr_was_waiting(registers)) {
		const char *objection = running_objection(s, frame, count);

		if (objection)
			return not_safe(s, objection);
	}
	return 0;
}

static int check_sample(struct search *s, pid_t tid)
{
	struct keeper_link *link = s->in->view->link;
	bool keep = s->in->keep && s->objection == frame_objection;
	uint64_t value[PROTO_ASKED] = { (uint64_t)tid, keep, 0, 0 };
	struct proto_sample sample;
	struct unwind_input input = { .first_is_return = false };
	_cleanup_fd_ int fd = -1;
	void *copy;
	int error = keeper_link_call(link, PROTO_SAMPLE, value, NULL, 0);

	if (error || link->reply.payload_bytes != sizeof(sample))
		return error == -EPIPE ? error : not_safe(s, "it could not be stopped");
	memcpy(&sample, link->payload, sizeof(sample));
	fd = keeper_link_take_fd(link, 0);
	copy = sample.stack_bytes ? mmap(NULL, sample.stack_bytes, PROT_READ, MAP_PRIVATE, fd, 0) :
				    MAP_FAILED;
	if (copy == MAP_FAILED)
		return not_safe(s, "its stack could not be read");
	input.registers = (struct unwind_registers){
		.rip = sample.registers.rip, .rsp = sample.registers.rsp,
		.rbp = sample.registers.rbp, .rbx = sample.registers.rbx,
		.r12 = sample.registers.r12, .r13 = sample.registers.r13,
		.r14 = sample.registers.r14, .r15 = sample.registers.r15,
	};
	input.stack = copy;
	input.stack_address = sample.registers.rsp;
	input.stack_bytes = sample.stack_bytes;
	s->place = (struct safe_thread_place){ sample.registers.rsp, sample.registers.fs_base };
	error = check_frames(s, &input, &sample.registers);
	(void)munmap(copy, sample.stack_bytes);
	return error;
}

static const char in_locked[] = "a thread is in the dynamic loader, or writes about the heap";

static const char *lock_objection(const struct search *s, const struct frame *frame)
{
	const struct module *module = modules_get(s->in->view->modules, frame->module);
	uint64_t address = frame->offset + (module ? module->bias : 0);

	if (!module)
		return "a frame belongs to no module";
	return may_hold_locks(s, address) ? in_locked : NULL;
}

/* 0: t holds no such lock. The stack says so at once, or its frames do. */
static int check_outside_locks(struct search *s, const struct thread_candidate *t)
{
	int error = 0;

	if (thread_may_hold_locks(s, t)) {
		s->objection = lock_objection;
		error = check_sample(s, t->tid);
		s->objection = frame_objection;
	}
	return error;
}

static bool blocked(const struct thread_candidate *t)
{
	return t->rank == THREAD_BLOCKED || t->rank == THREAD_TIMED;
}

/* Runtimes have helper threads with some pages of stack; the main thread's grows. */
static bool has_room(const struct search *s, const struct thread_candidate *t)
{
	const struct procmap *map = procmaps_find(&s->in->view->maps, t->sp);

	return !map || frame_place_has_room(&s->in->view->maps, (pid_t)s->in->view->hello.pid,
					    t->tid, t->sp, THREADS_CALL_STACK);
}

/*
 * A thread that runs, and was seen to hold such a lock: being looked at may be why, as its call
 * began anew. So it is unwound; where it can't be, its words decide, from where it stood.
 */
static int check_again(struct search *s, const struct thread_candidate *t)
{
	struct thread_candidate stood = *t;
	int error;

	s->place = (struct safe_thread_place){ 0 };
	s->objection = lock_objection;
	error = check_sample(s, t->tid);
	s->objection = frame_objection;
	stood.sp = s->place.sp;
	if (error == -ENOENT && stood.sp && !thread_may_hold_locks(s, &stood))
		return 0;
	return error;
}

/* 0: t is not known to hold a lock that dlopen needs. */
static int check_lock_holder(struct search *s, const struct thread_candidate *t)
{
	pid_t *holder = &s->in->threads->holder;
	int error;

	if (!blocked(t) && t->tid != *holder)
		return 0;
	error = blocked(t) ? check_outside_locks(s, t) : check_again(s, t);
	if (error)
		*holder = t->tid;
	else if (t->tid == *holder)
		*holder = 0;
	return error;
}

void safe_thread_is_unfit(struct safe_threads *threads)
{
	if (threads->unfit_count == ARRAY_SIZE(threads->unfit))
		threads->unfit_count = 0;
	threads->unfit[threads->unfit_count++] = threads->found;
}

static bool is_unfit(const struct safe_threads *threads, pid_t tid)
{
	for (unsigned int i = 0; i < threads->unfit_count; i++)
		if (threads->unfit[i] == tid)
			return true;
	return false;
}

/* Those that are blocked, or those that run. 0: one was found. */
static int try_threads(struct search *s, bool running)
{
	int error = running ? -ENOENT : not_safe(s, "no thread is blocked in a system call");
	size_t tried = 0;

	for (size_t i = 0; i < s->count && tried < MAX_SAMPLES; i++) {
		const struct thread_candidate *t = &s->thread[i];

		if (running ? t->rank != THREAD_RUNNING : !blocked(t))
			continue;
		if (s->in->files && t->own_files) {
			error = not_safe(s, "it has descriptors of its own");
			continue;
		}
		/* on the way out it is that or to stay, after a while */
		if (t->starved && !(s->in->keep && s->in->running)) {
			error = not_safe(s, "it may get no processor (SCHED_IDLE, SCHED_DEADLINE)");
			continue;
		}
		if (t->transfer && !s->in->keep) {
			error = not_safe(s, "it is in the middle of a transfer");
			continue;
		}
		/* of a running one: who borrows it looks */
		if (is_unfit(s->in->threads, t->tid) || (!running && !has_room(s, t))) {
			error = not_safe(s, "its stack is too small");
			continue;
		}
		tried++;
		s->in->threads->found = t->tid;
		error = check_sample(s, t->tid);
		if (error != -ENOENT)
			break;
	}
	return error;
}

int safe_thread_find(const struct safe_thread_input *input, char ret_why[128])
{
	static struct search s;
	struct keeper_link *link = input->view->link;
	int error = keeper_link_call(link, PROTO_LIST_THREADS, NULL, NULL, 0);

	memset(&s, 0, sizeof(s));
	s.in = input;
	s.why = ret_why;
	s.objection = frame_objection;
	if (error)
		return error;
	s.count = link->reply.payload_bytes / sizeof(s.thread[0]);
	if (s.count > ARRAY_SIZE(s.thread))
		s.count = ARRAY_SIZE(s.thread);
	memcpy(s.thread, link->payload, s.count * sizeof(s.thread[0]));
	find_loader(&s);
	find_writers(&s);
	if (!s.loader_low)
		return not_safe(&s, "there is no dynamic loader");
	for (size_t i = 0; i < s.count; i++) {
		int other = check_lock_holder(&s, &s.thread[i]);

		if (other)
			return other;
	}
	error = try_threads(&s, false);
	if (error == -ENOENT && input->keep && input->running)
		error = try_threads(&s, true);
	if (error == -ENOENT)	/* they may be on their own stacks again */
		input->threads->unfit_count = 0;
	return error;
}

int safe_thread_is_outside_shim(const struct safe_thread_input *input, pid_t tid,
				struct safe_thread_place *ret)
{
	static struct search s;
	char why[128] = "";
	int error;

	memset(&s, 0, sizeof(s));
	s.in = input;
	s.why = why;
	s.objection = shim_objection;
	error = check_sample(&s, tid);
	*ret = s.place;
	if (error)
		log_debug("thread %d may be in the shim: %s", tid, why);
	return error == -ENOENT && strcmp(why, inside_shim) == 0 ? -EBUSY : error;
}
