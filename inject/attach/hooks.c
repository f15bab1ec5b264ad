/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - see hooks.h.
 *
 * An entry is patched by one 8-byte write, aligned where that holds the jump, so that a processor
 * fetches either the old or the new instruction. With a first-instruction patch no
 * thread can be inside what is replaced, so nothing has to stop; a patch over
 * several instructions needs all threads stopped and none of them inside. So does a word that is
 * not aligned (code that was made small: -Os), on the way out as well.
 * Other makers' processors than AMD get every patch in a stop until the toggle
 * storm has been run on them (docs/SAFETY.md).
 */
#include "inject/attach/hooks.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/attach/island_code.h"
#include "inject/attach/journal.h"
#include "inject/attach/ring_publish.h"
#include "inject/attach/text_pages.h"
#include "inject/quiesce/stop.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/steps.h"
#include "src/base/log.h"

enum {
	JMP_REL32 = 0xe9,
	JMP_REL8 = 0xeb,
	JMP_BYTES = 5,
	JMP_SHORT_BYTES = 2,
	STOP_TRIES = 14,
};
#define STOP_BUDGET_NS 20000000ull	/* doubles every 3 tries, up to 160 ms */
#define BETWEEN_STOPS_NS 30000000l	/* the target runs at least as long as it may stand */

static bool in_text(const struct procmaps *maps, uint64_t low, uint64_t high)
{
	const struct procmap *map = procmaps_find(maps, low);

	return map && high <= map->end && map->inode &&
	       (map->prot & (PROCMAP_X | PROCMAP_W | PROCMAP_SHARED)) == PROCMAP_X;
}

static uint64_t slot_address(const struct hook_plan *plan, const struct hook_entry *e)
{
	return plan->island[e->island].address + e->slot * sizeof(struct ring_island_entry);
}

/* Where the jump at the entry leads. */
static uint64_t code_address(const struct hook_plan *plan, const struct hook_entry *e)
{
	return slot_address(plan, e) + offsetof(struct ring_island_entry, code);
}

static bool reaches(uint64_t from_end, uint64_t to)
{
	int64_t d = (int64_t)(to - from_end);

	return d == (int32_t)d;
}

/* Filler that a compiler or assembler leaves: nops of every length, int3, zero. */
static bool is_filler(const uint8_t *b)
{
	for (int i = 0; i < JMP_BYTES; i++)
		if (!memchr("\x90\xcc\x00\x0f\x1f\x66\x2e\x84\x80\x40\x44", b[i], 11))
			return false;
	return true;
}

static bool arguments_make_sense(const struct hook_entry *e)
{
	struct ring_arguments a = ring_arguments_unpack(e->arguments);

	if (!ring_shape_is_custom(e->shape))
		return e->arguments == 0;
	return ring_arguments_pack(a) == e->arguments && a.size <= RING_ARGUMENTS &&
	       a.count <= RING_ARGUMENTS && a.block <= RING_ARGUMENTS;
}

static bool numbers_make_sense(const struct hook_plan *plan, const struct hook_entry *e)
{
	return e->shape > RING_SHAPE_NONE && e->shape < RING_SHAPE_COUNT &&
	       arguments_make_sense(e) &&
	       e->family < plan->family_count && e->island < plan->island_count &&
	       (e->slot + 1) * sizeof(struct ring_island_entry) <=
		       plan->island[e->island].pages * 4096ull &&
	       e->relocated_bytes <= HOOK_RELOCATED_BYTES && e->fixup_count <= HOOK_MAX_FIXUPS &&
	       e->covered_bytes <= HOOK_EXPECT_BYTES && e->low <= e->address &&
	       e->address < e->high;
}

static unsigned int jump_bytes(const struct hook_entry *e)
{
	return e->patch == HOOK_PATCH_GAP ? JMP_SHORT_BYTES : JMP_BYTES;
}

static bool patch_fits_word(const struct hook_entry *e)
{
	unsigned int bytes = jump_bytes(e);

	return e->patch >= HOOK_PATCH_GAP && e->patch <= HOOK_PATCH_STOPPED &&
	       e->covered_bytes >= bytes &&
	       (e->address % 8 + bytes <= 8 || (e->patch == HOOK_PATCH_STOPPED &&
						journal_word_fits(e->address)));
}

static int check_gap(const struct attachment *a, const struct procmaps *maps,
		     const struct hook_plan *plan, const struct hook_entry *e)
{
	int64_t distance = (int64_t)(e->gap - (e->address + JMP_SHORT_BYTES));

	if (distance != (int8_t)distance || !in_text(maps, e->gap, e->gap + JMP_BYTES) ||
	    procmaps_find(maps, e->gap) != procmaps_find(maps, e->address) ||
	    !reaches(e->gap + JMP_BYTES, code_address(plan, e)) || !is_filler(e->gap_expect))
		return -EINVAL;
	return remote_expect(&a->target, e->gap, e->gap_expect, JMP_BYTES);
}

static bool keeps_registers(const struct hook_plan *plan, const struct hook_entry *e)
{
	return e->family < HOOK_MAX_FAMILIES && plan->family[e->family].keeps_registers;
}

static int check_entry(const struct attachment *a, const struct procmaps *maps,
		       const struct hook_plan *plan, const struct hook_entry *e)
{
	int error;

	if (!numbers_make_sense(plan, e) || !patch_fits_word(e) ||
	    !in_text(maps, e->address, e->address + e->covered_bytes) ||
	    !(keeps_registers(plan, e) ? a->layout.keeping : a->layout.hook)[e->shape])
		return -EINVAL;
	error = remote_expect(&a->target, e->address, e->expect, e->covered_bytes);
	if (error)
		return error;
	if (e->patch == HOOK_PATCH_GAP)
		return check_gap(a, maps, plan, e);
	return reaches(e->address + JMP_BYTES, code_address(plan, e)) ? 0 : -EINVAL;
}

/* Do the bytes of its jump lie in those of an entry before it? */
static bool is_patched_twice(const struct hook_plan *plan, uint32_t index)
{
	const struct hook_entry *e = &plan->entry[index];

	for (uint32_t i = 0; i < index; i++)
		if (plan->entry[i].address < e->address + jump_bytes(e) &&
		    e->address < plan->entry[i].address + jump_bytes(&plan->entry[i]))
			return true;
	return false;
}

int hooks_check(const struct attachment *a, const struct hook_plan *plan, char *ret_name)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(a->target.maps, &maps);

	if (!error && (plan->entry_count > RING_MAX_ENTRIES ||
		       plan->family_count > HOOK_MAX_FAMILIES ||
		       plan->island_count > RING_MAX_ISLANDS))
		error = -EINVAL;
	for (uint32_t i = 0; !error && i < plan->entry_count; i++) {
		error = check_entry(a, &maps, plan, &plan->entry[i]);
		if (!error && is_patched_twice(plan, i))
			error = -EINVAL;
		if (error)
			memcpy(ret_name, plan->entry[i].name, HOOK_NAME_BYTES);
	}
	return error;
}

static void put_rel32(uint8_t *at, uint64_t end_address, uint64_t to)
{
	int32_t d = (int32_t)(to - end_address);

	memcpy(at, &d, sizeof(d));
}

/* Relocated first instructions, then `jmp rel32` to the instruction after them. */
static int fill_original(const struct hook_entry *e, uint64_t at, uint8_t *code)
{
	uint64_t back = e->address + e->covered_bytes;
	unsigned int n = e->relocated_bytes;

	memcpy(code, e->relocated, n);
	for (unsigned int i = 0; i < e->fixup_count; i++) {
		const struct hook_fixup *f = &e->fixup[i];

		if (f->at + 4u > n || f->end > n || !reaches(at + f->end, f->target))
			return -EINVAL;
		put_rel32(code + f->at, at + f->end, f->target);
	}
	if (!reaches(at + n + JMP_BYTES, back))
		return -EINVAL;
	code[n] = JMP_REL32;
	put_rel32(code + n + 1, at + n + JMP_BYTES, back);
	return 0;
}

static int fill_slot(const struct attachment *a, uint32_t index, struct ring_island_entry *slot)
{
	const struct hook_entry *e = &a->plan.entry[index];
	bool keeps = keeps_registers(&a->plan, e);
	struct island_code code = {
		.shape = e->shape, .index = index, .keeps = keeps, .samples = a->samples,
		.hook = a->shim_base + (keeps ? a->layout.keeping : a->layout.hook)[e->shape],
		.root = a->shim_base + a->layout.root,
	};

	if (e->jumps_on || e->hands_on)
		code.index |= RING_ISLAND_SPAN;
	if (e->hands_on)
		code.index |= RING_ISLAND_OUTER;
	if (e->family < HOOK_MAX_FAMILIES && a->plan.family[e->family].uses_tls)
		code.index |= RING_ISLAND_TLS;
	island_code_fill(slot, &code);
	return fill_original(e, slot_address(&a->plan, e) +
				offsetof(struct ring_island_entry, original), slot->original);
}

/* File offset of an island in the shim's memfd: the islands follow the image. */
static uint64_t island_offset(const struct attachment *a, uint32_t island)
{
	uint64_t offset = a->layout.file_bytes;

	for (uint32_t i = 0; i < island; i++)
		offset += a->island[i].bytes;
	return offset;
}

/* Tells the shim whose calls are nested: the entries' own, and the helpers' that the plan names. */
static int publish_callers(struct attachment *a)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(a->target.maps, &maps);

	if (!error && a->plan.helper_count > RING_MAX_ENTRIES)
		error = -EINVAL;
	for (uint32_t i = 0; !error && i < a->plan.helper_count; i++) {
		const struct ring_range *range = &a->plan.helper[i];

		if (range->low >= range->high || !in_text(&maps, range->low, range->high))
			error = -EINVAL;
	}
	if (error)
		return error;
	ring_publish_callers(a->control);
	return ring_publish_helpers(a->control, a->plan.helper, a->plan.helper_count);
}

int hooks_write_islands(struct attachment *a)
{
	int error;

	for (uint32_t i = 0; i < a->plan.entry_count; i++) {
		const struct hook_entry *e = &a->plan.entry[i];
		struct ring_island_entry slot;
		uint64_t offset = island_offset(a, e->island) + e->slot * sizeof(slot);

		error = fill_slot(a, i, &slot);
		if (error)
			return error;
		if (pwrite(a->shim_fd, &slot, sizeof(slot), (off_t)offset) != sizeof(slot))
			return -EIO;
		a->control->entry[i] = (struct ring_entry){
			.low = e->low, .high = e->high, .shape = e->shape, .family = e->family,
			.arguments = e->arguments,
		};
		if (e->hands_on || ring_shape_is_custom(e->shape))
			a->control->outers |= 1u << ring_shape_class(e->shape);
	}
	a->control->entry_count = a->plan.entry_count;
	error = publish_callers(a);
	if (error)
		return error;
	step_point();
	return 0;
}

/* The word at address, before anything is changed. 0 or -errno. */
static int read_patch(const struct attachment *a, uint64_t address, struct ring_patch *ret)
{
	int error;

	*ret = (struct ring_patch){ .address = address };
	error = text_page_note(&a->target, address, ret);
	ret->patched = ret->original;
	return error;
}

/* Replaces bytes inside the word at address, from byte number at on; journal before text. */
static int patch_word(struct attachment *a, uint64_t address, size_t at, const uint8_t *bytes,
		      size_t count)
{
	struct ring_patch word;
	int error = read_patch(a, address, &word);

	if (error)
		return error;
	memcpy((uint8_t *)&word.patched + at, bytes, count);
	error = journal_intend(&a->journal, &a->control->journal, &word);
	return error ? error : remote_write_word(&a->target, word.address, word.patched);
}

/* A gap is written in as many aligned words as it lies in: no thread runs there yet. */
static int patch_gap(struct attachment *a, uint64_t address, const uint8_t *bytes, size_t count)
{
	size_t at = address % 8, first = count < 8 - at ? count : 8 - at;
	int error = patch_word(a, address & ~7ull, at, bytes, first);

	if (error || first == count)
		return error;
	return patch_word(a, (address & ~7ull) + 8, 0, bytes + first, count - first);
}

static int patch_entry(struct attachment *a, uint64_t address, const uint8_t *bytes,
		       unsigned int count)
{
	uint64_t word = journal_word_at(address, count);

	return patch_word(a, word, address - word, bytes, count);
}

static int apply_gap(struct attachment *a, const struct hook_entry *e)
{
	uint8_t jump[JMP_BYTES] = { JMP_REL32 };

	put_rel32(jump + 1, e->gap + JMP_BYTES, code_address(&a->plan, e));
	return patch_gap(a, e->gap, jump, sizeof(jump));
}

static int apply_entry(struct attachment *a, const struct hook_entry *e)
{
	uint8_t jump[JMP_BYTES] = { JMP_REL32 };

	if (e->patch == HOOK_PATCH_GAP) {
		jump[0] = JMP_REL8;
		jump[1] = (uint8_t)(e->gap - (e->address + JMP_SHORT_BYTES));
		return patch_entry(a, e->address, jump, JMP_SHORT_BYTES);
	}
	put_rel32(jump + 1, e->address + JMP_BYTES, code_address(&a->plan, e));
	return patch_entry(a, e->address, jump, JMP_BYTES);
}

static bool releases(const struct hook_entry *e)
{
	return e->shape == RING_SHAPE_FREE || e->shape == RING_SHAPE_MUNMAP;
}

/* True on processors where patching under running threads has been proven by test. */
static bool may_patch_running(void)
{
	unsigned int eax, vendor_b, vendor_c, vendor_d;

	if (!__get_cpuid(0, &eax, &vendor_b, &vendor_c, &vendor_d))
		return false;
	return vendor_b == signature_AMD_ebx && vendor_c == signature_AMD_ecx;
}

/* Applies those of one round: releasing or allocating entries, stopped or running ones. */
static int apply_round(struct attachment *a, bool release, bool stopped, bool everything_stopped)
{
	for (uint32_t i = 0; i < a->plan.entry_count; i++) {
		const struct hook_entry *e = &a->plan.entry[i];
		bool needs_stop = e->patch == HOOK_PATCH_STOPPED || everything_stopped;
		int error;

		if (releases(e) != release || needs_stop != stopped)
			continue;
		error = apply_entry(a, e);
		if (error)
			return error;
	}
	return 0;
}

static bool clear_of_entries(const struct attachment *a, const struct stop_all *stop,
			     const struct sharers_seen *before)
{
	struct stack_range inside[RING_MAX_ENTRIES];	/* from the second byte that is replaced */
	size_t count = 0;

	for (uint32_t i = 0; i < a->plan.entry_count; i++) {
		const struct hook_entry *e = &a->plan.entry[i];

		if (e->patch == HOOK_PATCH_STOPPED)
			inside[count++] = (struct stack_range){ .low = e->address + 1,
								.high = e->address +
									e->covered_bytes };
	}
	return !count || stop_all_clear_of(stop, before, inside, count);
}

static void let_it_run(void)
{
	struct timespec pause = { 0, BETWEEN_STOPS_NS };

	(void)nanosleep(&pause, NULL);
}

static int try_stopped(struct attachment *a, bool everything_stopped)
{
	for (uint64_t i = 0; i < STOP_TRIES; i++) {
		struct sharers_seen before;
		struct stop_all *stop;
		uint64_t held_us = 0;
		uint32_t threads = 0;
		bool clear;
		int error;

		stop_all_look(&a->target, &before);
		error = stop_all_begin(&a->target, STOP_BUDGET_NS << (i / 3 < 3 ? i / 3 : 3),
				       &stop);
		if (error == -ETIME) {
			let_it_run();
			continue;
		}
		if (error)
			return error;
		clear = clear_of_entries(a, stop, &before);
		if (clear)
			error = apply_round(a, true, true, everything_stopped);
		if (clear && !error)
			error = apply_round(a, false, true, everything_stopped);
		stop_all_end(stop, &held_us, &threads);
		attachment_note_stop(a, held_us, threads);
		log_debug("%u threads stood for %llu us%s", threads, (unsigned long long)held_us,
			  clear ? "" : ", one of them in the code to patch");
		if (clear)
			return error;
		let_it_run();
	}
	return -ETIME;
}

static int apply_stopped(struct attachment *a, bool everything_stopped)
{
	int error = try_stopped(a, everything_stopped);

	stop_all_look_done();
	return error;
}

static bool any_needs_stop(const struct attachment *a, bool everything_stopped)
{
	for (uint32_t i = 0; i < a->plan.entry_count; i++)
		if (everything_stopped || a->plan.entry[i].patch == HOOK_PATCH_STOPPED)
			return true;
	return false;
}

int hooks_apply_gaps(struct attachment *a)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < a->plan.entry_count; i++)
		if (a->plan.entry[i].patch == HOOK_PATCH_GAP)
			error = apply_gap(a, &a->plan.entry[i]);
	a->journal.gap_patches = a->journal.patch_count;
	a->control->journal.gap_patches = a->journal.patch_count;
	return error;
}

int hooks_apply_entries(struct attachment *a)
{
	bool everything_stopped = !may_patch_running();
	int error = apply_round(a, true, false, everything_stopped);

	if (!error && any_needs_stop(a, everything_stopped))
		error = apply_stopped(a, everything_stopped);
	if (!error)
		error = apply_round(a, false, false, everything_stopped);
	return error;
}

static int revert_stopped(struct attachment *a, uint32_t first, uint32_t last)
{
	struct stop_all *stop = NULL;
	uint64_t held_us = 0;
	uint32_t threads = 0;
	bool whole = !journal_needs_stop(&a->journal, first, last);
	/* it can't be stopped, and runs what the threads run: it might see half a word */
	int error = !whole && sharers_exist(&a->target) ? -EAGAIN : 0;

	if (!error)
		error = stop_all_begin(&a->target, STOP_BUDGET_NS * 8, &stop);
	if (!error)
		error = journal_revert(&a->target, &a->journal, first, last, false);
	stop_all_end(stop, &held_us, &threads);
	attachment_note_stop(a, held_us, threads);
	if (error == -ETIME)
		let_it_run();
	return error;
}

/*
 * On processors where that has not been proven by test, and of words that are not aligned, nobody
 * runs while words change. Where nobody can be stopped the aligned ones are put back all the same.
 */
static int revert(struct attachment *a, uint32_t first, uint32_t last)
{
	bool running = may_patch_running();
	int error = running ? journal_revert(&a->target, &a->journal, first, last, true) : 0, one;

	if (running && !journal_needs_stop(&a->journal, first, last))
		return error;
	one = revert_stopped(a, first, last);
	return error ? error : one;
}

int hooks_revert_entries(struct attachment *a)
{
	return revert(a, a->journal.gap_patches, a->journal.patch_count);
}

int hooks_revert_gaps(struct attachment *a)
{
	return revert(a, 0, a->journal.gap_patches);
}
