/* SPDX-License-Identifier: MIT */
/*
 * access.c - slice by slice: four words (access_plan.c) are watched for a fifth of a second, what
 * hit them is unwound and counted by place. Runs when the target was left: what is watched
 * leaves nothing in it, and hooks would only slow it down meanwhile.
 * Blocks may have been freed since the picture was made. Their memory may be gone, which is looked
 * for before each slice; or a function of the allocator touches it, which says so. What is
 * written while other words are watched shows in the contents, compared in the end: with the
 * picture's (changes.h), or where there is none any more, the first bytes with themselves.
 * An access is reported by the place *behind* it. That is as a return address, but where a call
 * read its own target: there one is at the first instruction of a function, and the access
 * is its caller's.
 */
#include "src/access/access.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/access/samples.h"
#include "src/access/verdict.h"
#include "src/base/log.h"

#define SLICE_SECONDS 0.2
#define SETUP_PART 2	/* a slice lasts as many times as long as it took to begin, at least */
enum { CONTENTS_BYTES = 4096 };

struct access {
	const struct access_input *input;
	struct leak_report *report;
	struct access_plan plan;
	struct access_places *places;	/* one for each group of the report */
	struct unwinder *unwinder;
	struct access_slice slice;
	struct access_began began;
	uint32_t slots;			/* debug registers that can be had */
	uint64_t capped[ACCESS_SLOTS];	/* hits of the thread at hand */
	double begin, end;
	int error;
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- what hit a word ---- */

static uint64_t address_of(const struct access *a, const struct frame *frame)
{
	const struct module *module = modules_get(a->input->view->modules, frame->module);

	return frame->offset + (module ? module->bias : 0);
}

static bool is_allocator(const struct access *a, const struct frame *frame)
{
	const struct hook_plan *plan = a->input->plan;
	uint64_t address = address_of(a, frame);

	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->family[plan->entry[i].family].kind == HOOK_FAMILY_MALLOC &&
		    address >= plan->entry[i].low && address < plan->entry[i].high)
			return true;
	return false;
}

/* Behind a call that read where it leads, one is at the begin of a function. */
static bool is_function_begin(const struct access *a, const struct frame *frame)
{
	size_t count = 0;
	const struct symbol_frame *symbol =
		symbolizer_frame(a->input->symbolizer, frame, &count);

	return symbol && count && symbol->function && symbol->function_offset == 0;
}

/* memcpy, strlen and the like say little: who called them? */
static bool is_runtime(const struct access *a, const struct frame *frame)
{
	static const char *const prefix[] = { "libc.so", "libc-", "libc.musl", "ld-musl",
					      "libstdc++.so", "libpthread", "libgcc_s.so" };
	const struct module *module = modules_get(a->input->view->modules, frame->module);
	const char *name = module ? strrchr(module->path, '/') : NULL;

	for (size_t i = 0; name && i < ARRAY_SIZE(prefix); i++)
		if (strncmp(name + 1, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

/* Frames up to the first of the program's own that has a line in a source; two, if none has. */
static uint32_t useful_frames(const struct access *a, const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < LEAK_PLACE_FRAMES; i++) {
		size_t inlined = 0;
		const struct symbol_frame *symbol =
			symbolizer_frame(a->input->symbolizer, &frame[i], &inlined);

		if (symbol && inlined && symbol->line && !is_runtime(a, &frame[i]))
			return i + 1;
	}
	return count < 2 ? count : 2;
}

static enum access_role role_of(const struct access *a, const struct access_target *target)
{
	/* half a pair tells nothing */
	if (!target->paired || a->began.limits & ACCESS_NO_SLOT)
		return ACCESS_ALONE;
	return target->writes_only ? ACCESS_PAIR_WRITES : ACCESS_PAIR_ALL;
}

static void note_state(struct access_block *block, uint64_t address, bool frees)
{
	if (block->state == ACCESS_QUIET)
		block->touched = address;
	if (frees)
		block->state = ACCESS_FREED;
	else if (block->state == ACCESS_QUIET)
		block->state = ACCESS_TOUCHED;
}

static void note_hit(void *context, const struct access_sample *sample)
{
	static struct frame frames[STACKS_MAX_FRAMES];
	struct access *a = context;
	const struct access_target *target = &a->slice.target[sample->slot];
	struct unwind_input input = { .registers = sample->registers, .stack = sample->stack,
				      .stack_address = sample->registers.rsp,
				      .stack_bytes = sample->stack_bytes };
	struct frame *frame = frames;
	struct access_block *block;
	enum unwind_end end;
	bool frees = false;
	uint32_t count;

	if (a->error || sample->slot >= a->slice.count)
		return;
	block = &a->plan.block[target->block];
	a->error = unwinder_walk(a->unwinder, &input, frames, &count, &end);
	if (a->error || !count)
		return;
	a->capped[sample->slot]++;
	if (count > 1 && is_function_begin(a, frame)) {
		frame++;
		count--;
	} else {
		frame->flags |= FRAME_RETURN;
	}
	for (uint32_t i = 0; i < count && i < LEAK_PLACE_FRAMES; i++)
		frees |= is_allocator(a, &frame[i]);
	note_state(block, target->address, frees);
	a->error = access_places_add(&a->places[block->group], frame,
				     useful_frames(a, frame, count), role_of(a, target), frees);
}

/* ---- one slice ---- */

static int note_thread(struct access *a, const struct access_thread *thread,
		       const uint8_t *records)
{
	uint64_t lost = 0;

	memset(a->capped, 0, sizeof(a->capped));
	a->report->access.hits +=
		access_samples_each(thread, records, note_hit, a, &lost);
	for (uint32_t i = 0; i < a->slice.count; i++)
		a->plan.block[a->slice.target[i].block].capped |=
			lost || a->capped[i] >= a->began.hits;
	return a->error;
}

static int read_all(int fd, uint8_t *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t got = pread(fd, to + done, bytes - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

/* The reply of PROTO_ACCESS_END. */
static int note_slice(struct access *a)
{
	struct keeper_link *link = a->input->view->link;
	_cleanup_fd_ int fd = keeper_link_take_fd(link, 0);
	size_t count = link->reply.payload_bytes / sizeof(struct access_thread), at = 0;
	_cleanup_free_ struct access_thread *thread = calloc(count + 1, sizeof(*thread));
	_cleanup_free_ uint8_t *records = NULL;
	struct stat file;
	int error;

	if (!thread)
		return -ENOMEM;
	memcpy(thread, link->payload, count * sizeof(*thread));
	if (fd < 0 || fstat(fd, &file) < 0)
		return -EBADMSG;
	records = malloc((size_t)file.st_size + 1);
	if (!records)
		return -ENOMEM;
	error = read_all(fd, records, (size_t)file.st_size);
	for (size_t i = 0; !error && i < count; i++) {
		if (thread[i].bytes > (size_t)file.st_size - at)
			return -EBADMSG;
		error = note_thread(a, &thread[i], records + at);
		at += thread[i].bytes;
	}
	return error;
}

/* Each block counts once, however many of its words were watched. */
static void note_time(struct access *a, double seconds)
{
	for (uint32_t i = 0; i < a->slice.count; i++) {
		bool counted = !(a->began.slots & 1u << i);

		size_t block = a->slice.target[i].block;

		for (uint32_t k = 0; k < i; k++)
			counted = counted || (a->slice.target[k].block == block &&
					      a->began.slots & 1u << k);
		if (!counted)
			a->plan.block[block].armed += seconds;
	}
}

static void note_began(struct access *a)
{
	struct leak_access_run *run = &a->report->access;
	const struct access_began *began = &a->began;
	uint32_t slots = (uint32_t)__builtin_popcount(began->slots);

	if (began->threads_there > run->threads_there)
		run->threads_there = began->threads_there;
	if (began->threads > run->threads)
		run->threads = began->threads;
	run->kernel_unseen |= (began->limits & ACCESS_NO_KERNEL) != 0;
	run->slots_taken |= (began->limits & ACCESS_NO_SLOT) != 0;
	if (slots < a->slice.count)
		a->slots = slots ? slots : 1;
}

/* Memory that is not there any more can't be watched, and was freed. */
static bool is_there(const struct access *a, uint64_t address)
{
	uint64_t word;

	return pread(a->input->view->mem, &word, sizeof(word), (off_t)address) ==
	       (ssize_t)sizeof(word);
}

/* Of the block's first bytes; 0: they are not there any more. */
static uint64_t hash_contents(const struct access *a, const struct access_block *block)
{
	uint64_t word[CONTENTS_BYTES / sizeof(uint64_t)], hash = 1;
	size_t bytes = block->bytes < CONTENTS_BYTES ? (size_t)block->bytes : CONTENTS_BYTES;
	ssize_t got = pread(a->input->view->mem, word, bytes, (off_t)block->address);

	for (ssize_t i = 0; i < got / (ssize_t)sizeof(word[0]); i++)
		hash = (hash ^ word[i]) * 0x9e3779b97f4a7c15ull + (hash >> 29);
	return got == (ssize_t)bytes ? hash | 1 : 0;
}

static void note_contents(struct access *a)
{
	for (size_t i = 0; i < a->plan.count; i++)
		a->plan.block[i].contents = hash_contents(a, &a->plan.block[i]);
}

/* The program's first page is there as long as the program is. */
static bool note_end(struct access *a)
{
	const struct procmaps *maps = &a->input->view->maps;

	if (a->input->view->link->target_gone ||
	    (maps->count && !is_there(a, maps->map[0].start)))
		a->report->access.ended = true;
	return a->report->access.ended;
}

static bool has_changed(const struct access *a, const struct access_block *block)
{
	uint64_t hash = hash_contents(a, block);

	if (!hash || !block->contents)
		return false;
	return hash != block->contents ||
	       (a->input->changes &&
		access_changes_in(a->input->changes, block->address, block->bytes));
}

static void compare_contents(struct access *a)
{
	(void)note_end(a);
	for (size_t i = 0; !a->report->access.ended && i < a->plan.count; i++) {
		struct access_block *block = &a->plan.block[i];

		if (block->state == ACCESS_QUIET && has_changed(a, block))
			block->state = ACCESS_CHANGED;
	}
}

/* False when nothing is left to be watched. */
static bool choose(struct access *a, struct access_begin *ret)
{
	bool gone = true;

	while (gone) {
		gone = false;
		access_plan_next(&a->plan, a->slots, &a->slice);
		for (uint32_t i = 0; i < a->slice.count; i++) {
			const struct access_target *target = &a->slice.target[i];

			ret->slot[i].address = target->address;
			ret->slot[i].writes_only = target->writes_only;
			if (is_there(a, target->address))
				continue;
			a->plan.block[target->block].state = ACCESS_GONE;
			gone = true;
		}
	}
	ret->count = a->slice.count;
	return a->slice.count > 0;
}

/* Waits for the end of the slice, of the target, or of the user's patience. */
static int wait_slice(struct access *a, double until)
{
	struct keeper_link *link = a->input->view->link;
	int error = 0;

	while (!error && !link->target_gone && !link->stop_wanted && now() < until)
		error = keeper_link_poll(link, (int)((until - now()) * 1e3) + 1);
	return error;
}

/* 1 go on, 0 it is over, -errno. */
static int watch_slice(struct access *a, const struct access_begin *request)
{
	struct keeper_link *link = a->input->view->link;
	double asked = now(), begin, end;
	bool unwanted;
	int error = keeper_link_call(link, PROTO_ACCESS_BEGIN, NULL, request, sizeof(*request));

	if (error == -EPIPE)
		return error;
	if (error || link->reply.payload_bytes != sizeof(a->began)) {
		a->report->access.ended |= error == -ESRCH;
		if (error != -ESRCH)
			(void)snprintf(a->report->access.problem,
				       sizeof(a->report->access.problem), "%.255s",
				       link->reply.text);
		return 0;
	}
	memcpy(&a->began, link->payload, sizeof(a->began));
	note_began(a);
	begin = now();
	end = begin + fmax(SLICE_SECONDS, SETUP_PART * (begin - asked));
	error = wait_slice(a, fmin(end, a->end));
	if (!error)
		error = keeper_link_call(link, PROTO_ACCESS_END, NULL, NULL, 0);
	if (error)
		return error;
	unwanted = link->reply.value[0] != 0;
	if (note_end(a))	/* what was hit may have been another program's */
		return 0;
	note_time(a, now() - begin);
	error = note_slice(a);
	return error ? error : !unwanted;
}

static int watch(struct access *a)
{
	struct access_begin request = { .first = 1 };
	int more = 1;

	a->input->view->link->stop_wanted = false;	/* of what came before */
	note_contents(a);
	a->begin = now();
	a->end = a->begin + a->input->seconds;
	while (more > 0 && now() < a->end && choose(a, &request)) {
		more = watch_slice(a, &request);
		memset(&request, 0, sizeof(request));
	}
	/* what is written shows without any breakpoint */
	if (a->report->access.problem[0] && a->input->changes && a->plan.count)
		more = wait_slice(a, a->end);
	a->report->access.seconds = now() - a->begin;
	if (more >= 0)
		compare_contents(a);
	return more < 0 ? more : 0;
}

static void count_blocks(struct access *a)
{
	for (size_t i = 0; i < a->plan.count; i++)
		a->report->access.blocks += a->plan.block[i].armed > 0;
}

static int prepare(struct access *a)
{
	int error = target_view_refresh(a->input->view);

	if (error < 0 && error != -ENOMEM)	/* it has ended */
		return -ESRCH;
	a->places = calloc(a->report->group_count + 1, sizeof(*a->places));
	if (error < 0 || !a->places)
		return -ENOMEM;
	error = access_plan_new(a->report, &a->plan);
	return error ? error : unwinder_new(a->input->view->modules, &a->unwinder);
}

int access_run(const struct access_input *input, struct leak_report *report)
{
	struct access a = { .input = input, .report = report, .slots = ACCESS_SLOTS };
	size_t groups = report->group_count;
	int error = prepare(&a);

	report->access.wanted = true;
	if (!error && input->progress && a.plan.count)
		log_notice("watching %zu blocks for %.0f s; Ctrl-C ends it", a.plan.count,
			   input->seconds);
	if (!error)
		error = watch(&a);
	report->access.ended |= error == -ESRCH;
	count_blocks(&a);
	if (a.places && error != -ENOMEM && access_verdict_apply(report, &a.plan, a.places,
								 report->access.seconds))
		error = -ENOMEM;
	for (size_t i = 0; a.places && i < groups; i++)
		access_places_done(&a.places[i]);
	free(a.places);
	unwinder_free(a.unwinder);
	access_plan_done(&a.plan);
	return error == -ESRCH ? 0 : error;
}
