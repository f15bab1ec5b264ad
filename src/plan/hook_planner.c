/* SPDX-License-Identifier: MIT */
/*
 * hook_planner.c - decides for every allocator entry point how to patch it.
 *
 * In this order: a jump of 5 bytes over a first instruction that is long enough
 * (direct); a short jump to a gap (gap); a jump of 5 bytes over several
 * instructions, for which all threads must be stopped (stopped). The first two
 * replace a single instruction, which no thread can be in the middle of, in one aligned word of 8
 * bytes; the third may lie across two.
 *
 * Entries that only hand their call on to another planned entry (`operator
 * delete` -> free) are left alone: the same free would be recorded twice, as the
 * jump leaves no return address of ours to tell by.
 *
 * An allocator is hooked whole or not at all: with a part of its functions, blocks
 * would seem to live for ever, or to be freed that never came.
 *
 * Refused: what a direct jump of the function itself leads into, code that is
 * not r-x text of a file, first bytes that look patched by somebody else.
 * Patching the GOT instead was rejected (see docs/SAFETY.md): it misses callers.
 */
#include "src/plan/hook_planner_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "inject/attach/journal.h"
#include "src/base/spare_pages.h"
#include "src/plan/code_ranges.h"
#include "src/plan/entry_decode.h"
#include "src/plan/entry_gap.h"
#include "src/plan/gadgets.h"
#include "src/plan/hook_islands.h"
#include "src/plan/hook_order.h"

#define WORD        8u
#define PATCH_JUMPS 2u /* from an entry to somebody's code */

/* A gap that straddles two words and the entry's own. */
RING_ASSERT(RING_MAX_PATCHES >= 3 * RING_MAX_ENTRIES, "the journal holds any plan");

/* One entry point while it is being decided. */
struct candidate {
	const struct allocator_symbol *symbol;
	const struct allocator_module *module;
	struct code_ranges ranges;
	struct entry_code code;		/* of the function, bytes owned */
	uint8_t *bytes;
	struct entry_scan scan;
	struct hook_entry entry;
	const char *reason;		/* why not, when it can't be */
};

static int read_target(const struct planner *planner, uint64_t address, void *buffer, size_t bytes)
{
	const struct elf_reader *reader = planner->input->reader;

	return reader->read(reader->context, address, buffer, bytes);
}

/* Adds "name (module): reason" to what the plan leaves alone. family: or HOOK_HARMLESS. */
static void skip(struct hook_plan *plan, const struct allocators *found,
		 const struct allocator_symbol *symbol, const char *reason, unsigned int family)
{
	const char *path = found->module[symbol->module].path, *slash = strrchr(path, '/');

	if (plan->skipped_count >= HOOK_MAX_SKIPPED) {
		plan->left_out++;
		return;
	}
	plan->harmless_count += family == HOOK_HARMLESS;
	plan->skipped_family[plan->skipped_count] = (uint8_t)family;
	/* Cut where it is too long: the reason is what matters least then. */
	(void)!snprintf(plan->skipped[plan->skipped_count++], HOOK_SKIPPED_BYTES, "%s (%.24s): %s",
			symbol->display, slash ? slash + 1 : path, reason);
}

/* The function's own extent: call frame information first, the symbol's size else. */
static const char *find_extent(struct candidate *c)
{
	const struct allocator_symbol *symbol = c->symbol;
	const struct entry_span *range;
	uint64_t room = c->module->image.high - symbol->address;

	if (code_ranges_near(&c->module->image, c->module->has_symtab ? &c->module->symtab : NULL,
			     symbol->address - ENTRY_GAP_BELOW,
			     symbol->address + ENTRY_GAP_ABOVE + ENTRY_GAP_BYTES, &c->ranges) < 0)
		c->ranges.count = 0;
	range = code_ranges_find(&c->ranges, symbol->address);
	if (range) {
		c->entry.low = range->low;
		c->entry.high = range->high;
	} else {
		c->entry.low = symbol->address;
		c->entry.high = symbol->address + (symbol->size < room ? symbol->size : room);
	}
	return c->entry.high > symbol->address ? NULL : "its length is unknown";
}

/* Copies the function; of a very long one the part from the entry on. */
static int copy_code(const struct planner *planner, struct candidate *c)
{
	uint64_t low = c->entry.low, high = c->entry.high;

	if (high - low > ENTRY_MAX_CODE_BYTES) {
		low = c->symbol->address;
		high = high - low < ENTRY_MAX_CODE_BYTES ? high : low + ENTRY_MAX_CODE_BYTES;
	}
	c->bytes = malloc(high - low);
	if (!c->bytes)
		return -ENOMEM;
	if (read_target(planner, low, c->bytes, high - low) < 0 ||
	    read_target(planner, c->symbol->address, c->entry.expect, HOOK_EXPECT_BYTES) < 0) {
		c->reason = "its code can't be read";
		return 0;
	}
	c->code = (struct entry_code){ low, high, c->bytes };
	return entry_scan_code(&c->code, &c->scan);
}

static void candidate_done(struct candidate *c)
{
	entry_scan_done(&c->scan);
	free(c->bytes);
}

/* Reads all that decisions about symbol need. 0 (see c->reason) or -ENOMEM. */
static int candidate_init(const struct planner *planner, const struct allocator_symbol *symbol,
			  struct candidate *c)
{
	memset(c, 0, sizeof(*c));
	c->symbol = symbol;
	c->module = &planner->found->module[symbol->module];
	c->reason = symbol->skip;
	if (!c->reason && symbol->name->throws && planner->input->map_only)
		c->reason = "may throw; needs the dlopen loader";
	if (!c->reason &&
	    !planner_is_text(planner->input->maps, symbol->address, HOOK_EXPECT_BYTES))
		c->reason = "not in a file's text";
	if (!c->reason)
		c->reason = find_extent(c);
	return c->reason ? 0 : copy_code(planner, c);
}

/* Index of the symbol of the same shape that the function only hands its call on to, or -1. */
static int find_forward(const struct planner *planner, const struct candidate *c)
{
	const struct allocator_symbol *symbol = c->symbol, *other;
	uint64_t target;
	int index;

	if (ring_shape_is_custom(symbol->name->shape))
		return -1;	/* the other's arguments may lie elsewhere */
	if (!entry_forwards(&c->code, symbol->address, symbol->name->shape == RING_SHAPE_FREE,
			    &target))
		return -1;
	index = allocators_symbol_reached(planner->found, c->module, &target);
	if (index < 0)
		return -1;
	other = &planner->found->symbol[index];
	return other != symbol && other->name->shape == symbol->name->shape ? index : -1;
}

/* The 5 bytes of a direct jump lie in one aligned word. */
static bool fits_word(uint64_t address, unsigned int bytes)
{
	return address % WORD + bytes <= WORD;
}

static void take_relocation(struct candidate *c, const struct entry_relocation *moved,
			    enum hook_patch_kind kind)
{
	c->entry.patch = (uint8_t)kind;
	c->entry.covered_bytes = moved->covered_bytes;
	c->entry.relocated_bytes = moved->relocated_bytes;
	c->entry.fixup_count = moved->fixup_count;
	memcpy(c->entry.relocated, moved->relocated, sizeof(moved->relocated));
	memcpy(c->entry.fixup, moved->fixup, sizeof(moved->fixup));
}

/*
 * A function that only returns, as _dl_debug_state: the jump may cover the filler
 * behind its ret, where no thread ever is.
 */
static bool try_lone_ret(const struct planner *planner, struct candidate *c)
{
	uint64_t address = c->symbol->address;
	struct entry_relocation moved = { .covered_bytes = ENTRY_JUMP_BYTES };
	struct entry_code code = { address, address + HOOK_EXPECT_BYTES, c->entry.expect };

	if (!entry_is_lone_ret(&code, address, &moved.relocated_bytes) ||
	    !fits_word(address, ENTRY_JUMP_BYTES) ||
	    !planner_is_text(planner->input->maps, address, ENTRY_JUMP_BYTES))
		return false;
	for (unsigned int i = 1; i < ENTRY_JUMP_BYTES; i++) {
		const struct entry_span *other = code_ranges_find(&c->ranges, address + i);

		if (other && other->low > address)
			return false;
	}
	memcpy(moved.relocated, c->entry.expect, moved.relocated_bytes);
	take_relocation(c, &moved, HOOK_PATCH_DIRECT);
	return true;
}

/* Gap or direct: only the first instruction is replaced. 1 done, 0 see c->reason, -errno. */
static int try_first(struct planner *planner, struct candidate *c)
{
	struct entry_relocation moved;
	uint64_t address = c->symbol->address;
	int r;

	if (entry_relocate(&c->code, address, 1, &moved, &c->reason) < 0)
		return 0;
	if (moved.first_bytes >= ENTRY_JUMP_BYTES && fits_word(address, ENTRY_JUMP_BYTES)) {
		take_relocation(c, &moved, HOOK_PATCH_DIRECT);
		return 1;
	}
	c->reason = "its first instruction has one byte";
	if (moved.first_bytes < ENTRY_SHORT_JUMP_BYTES ||
	    !fits_word(address, ENTRY_SHORT_JUMP_BYTES))
		return 0;
	c->reason = "no gap";
	r = entry_gap_find(&planner->gaps, &c->ranges, address, &c->entry.gap,
			   c->entry.gap_expect);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	take_relocation(c, &moved, HOOK_PATCH_GAP);
	return 1;
}

static bool try_stopped(struct candidate *c)
{
	uint64_t address = c->symbol->address;
	struct entry_relocation moved;

	if (!journal_word_fits(journal_word_at(address, ENTRY_JUMP_BYTES))) {
		c->reason = "no gap, and across the end of a page";
		return false;
	}
	if (entry_relocate(&c->code, address, ENTRY_JUMP_BYTES, &moved, &c->reason) < 0)
		return false;
	if (!c->scan.complete) {
		c->reason = "no gap, and not all of its code decodes";
		return false;
	}
	if (entry_scan_jumps_into(&c->scan, address, address + moved.covered_bytes)) {
		c->reason = "no gap, and it jumps into its own entry";
		return false;
	}
	take_relocation(c, &moved, HOOK_PATCH_STOPPED);
	return true;
}

/*
 * Compilers don't jump out of a module; detours do, at once or by way of a gap,
 * and so do patches that an earlier memattach left.
 */
static bool looks_patched(const struct planner *planner, const struct candidate *c)
{
	const struct elf_image *image = &c->module->image;
	uint8_t bytes[HOOK_EXPECT_BYTES];
	uint64_t at = c->symbol->address, target;

	memcpy(bytes, c->entry.expect, sizeof(bytes));
	for (unsigned int i = 0; i < PATCH_JUMPS; i++) {
		struct entry_code code = { at, at + sizeof(bytes), bytes };

		if (!entry_starts_with_jump(&code, &target))
			return false;
		if (target < image->low || target >= image->high)
			return true;
		at = target;
		if (read_target(planner, at, bytes, sizeof(bytes)) < 0)
			return false;
	}
	return false;
}

/* Fills c->entry's patch, or c->reason. 0 or -errno. */
static int decide(struct planner *planner, struct candidate *c)
{
	uint64_t address = c->symbol->address;
	int r;

	if (looks_patched(planner, c)) {
		c->reason = "already patched by somebody";
		return 0;
	}
	/* A loop whose head is the entry would be a call for each turn. */
	if (entry_scan_jumps_into(&c->scan, address, address + 1)) {
		c->reason = "a loop of its own starts at its entry";
		return 0;
	}
	r = try_lone_ret(planner, c) ? 1 : try_first(planner, c);
	if (r < 0)
		return r;
	if (r > 0 || try_stopped(c))
		c->reason = NULL;
	return 0;
}

/* Keeps the word of every entry out of the hands of the gap search. */
static int reserve_entries(struct planner *planner)
{
	int r = 0;

	for (size_t i = 0; i < planner->found->symbol_count && r == 0; i++) {
		uint64_t address = planner->found->symbol[i].address;

		r = entry_gaps_reserve(&planner->gaps, address, address + ENTRY_JUMP_BYTES);
	}
	return r;
}

static unsigned int jump_bytes(uint8_t patch)
{
	return patch == HOOK_PATCH_GAP ? ENTRY_SHORT_JUMP_BYTES : ENTRY_JUMP_BYTES;
}

/*
 * Entries so close together that one's jump would lie over the other's. Their words may overlap:
 * only the bytes that a patch changes are put back.
 */
static bool is_taken(const struct hook_plan *plan, const struct candidate *c)
{
	uint64_t low = c->symbol->address, high = low + jump_bytes(c->entry.patch);

	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->entry[i].address < high &&
		    low < plan->entry[i].address + jump_bytes(plan->entry[i].patch))
			return true;
	return false;
}

static void add_entry(struct hook_plan *plan, struct candidate *c)
{
	/* The name's copy in the symbol is ended; both have the same length. */
	memcpy(c->entry.name, c->symbol->display, sizeof(c->entry.name));
	c->entry.address = c->symbol->address;
	c->entry.shape = c->symbol->name->shape;
	c->entry.family = c->symbol->family;
	c->entry.arguments = ring_arguments_pack(c->symbol->arguments);
	/* An unknown allocator may hand its calls on to any other. */
	c->entry.hands_on = hook_plan_is_unknown(&plan->family[c->entry.family]);
	plan->entry[plan->entry_count++] = c->entry;
}

/* Of what can't be hooked: it resizes in place, or does nothing; or no block goes through it. */
static bool is_harmless(const struct allocator_name *name)
{
	return strcmp(name->symbol, "xallocx") == 0 || name->group == ALLOCATOR_CONFINING ||
	       name->group == ALLOCATOR_LOADER;
}

/*
 * An allocator without this one of its functions would show blocks that never come, or never go.
 * Not so those that no hook fits whatever their code: programs seldom call them.
 */
static bool tears(const struct planner *planner, const struct allocator_symbol *symbol)
{
	return !symbol->skip && !(symbol->name->throws && planner->input->map_only);
}

static int plan_symbol(struct planner *planner, size_t index, bool forwards_too)
{
	struct candidate c;
	int r = candidate_init(planner, &planner->found->symbol[index], &c), forward = -1;

	if (r == 0 && !c.reason && !forwards_too)
		forward = find_forward(planner, &c);
	if (forward >= 0) {
		planner->state[index] = SYMBOL_FORWARDS;
		planner->forward[index] = (uint16_t)forward;
		candidate_done(&c);
		return 0;
	}
	if (r == 0 && !c.reason && planner->plan->entry_count >= RING_MAX_ENTRIES)
		c.reason = "no room for more entries";
	if (r == 0 && !c.reason)
		r = decide(planner, &c);
	if (r == 0 && !c.reason && is_taken(planner->plan, &c))
		c.reason = "too close to another entry";
	if (r == 0 && c.reason) {
		bool harmless = is_harmless(c.symbol->name);

		skip(planner->plan, planner->found, c.symbol, c.reason,
		     harmless ? HOOK_HARMLESS : c.symbol->family);
		planner->torn[c.symbol->family] |= !harmless && tears(planner, c.symbol);
	} else if (r == 0) {
		add_entry(planner->plan, &c);
	}
	planner->state[index] = c.reason ? SYMBOL_SKIPPED : SYMBOL_PLANNED;
	candidate_done(&c);
	return r;
}

static int plan_symbols(struct planner *planner)
{
	size_t count = planner->found->symbol_count;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = plan_symbol(planner, i, false);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (planner->state[i] == SYMBOL_FORWARDS &&
		    planner->state[planner_forward_end(planner, i)] != SYMBOL_PLANNED)
			r = plan_symbol(planner, i, true);
	}
	return r;
}

/* Those that need no hook are named last: they give way when there is no room. */
static void name_forwards(struct planner *planner)
{
	for (size_t i = 0; i < planner->found->symbol_count; i++) {
		const struct allocator_symbol *symbol = &planner->found->symbol[i];
		size_t end = planner_forward_end(planner, i);
		bool hooked = planner->state[end] == SYMBOL_PLANNED;
		char reason[HOOK_SKIPPED_BYTES];

		if (planner->state[i] != SYMBOL_FORWARDS ||
		    planner->plan->skipped_count >= HOOK_MAX_SKIPPED)
			continue;
		snprintf(reason, sizeof(reason), "calls %s, which is %s",
			 planner->found->symbol[end].display, hooked ? "hooked" : "left alone");
		skip(planner->plan, planner->found, symbol, reason,
		     hooked ? HOOK_HARMLESS : symbol->family);
	}
}

/* Why an entry that could be patched is left alone after all; NULL: it is hooked. */
static const char *drop_reason(const struct planner *planner, const struct hook_entry *entry)
{
	if (entry->island == HOOK_NO_ISLAND)
		return "no free address within 1 GiB";
	if (planner->plan->family[entry->family].kind == HOOK_FAMILY_MALLOC &&
	    planner->torn[entry->family])
		return "left alone with the rest of its allocator";
	return NULL;
}

/* Takes out what no island serves, and allocators of which a part can't be hooked. */
static void drop_entries_of_plan(struct planner *planner)
{
	struct hook_plan *plan = planner->plan;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < plan->entry_count; i++)
		planner->torn[plan->entry[i].family] |= plan->entry[i].island == HOOK_NO_ISLAND;
	for (uint32_t i = 0; i < plan->entry_count; i++) {
		int index = allocators_symbol_at(planner->found, plan->entry[i].address);
		const char *reason = drop_reason(planner, &plan->entry[i]);

		if (!reason) {
			plan->entry[kept++] = plan->entry[i];
		} else if (index >= 0) {
			planner->state[index] = SYMBOL_SKIPPED;
			skip(plan, planner->found, &planner->found->symbol[index], reason,
			     plan->entry[i].family);
		}
	}
	memset(&plan->entry[kept], 0, (plan->entry_count - kept) * sizeof(plan->entry[0]));
	plan->entry_count = kept;
}

static int make_plan(struct planner *planner)
{
	struct hook_plan *plan = planner->plan;
	int r = reserve_entries(planner);

	plan->family_count = (uint32_t)planner->found->family_count;
	spare_copy(plan->family, planner->found->family, sizeof(plan->family));
	plan->left_out = (uint32_t)planner->found->left_out;
	plan->clearance = planner->input->clearance;
	if (r == 0)
		r = plan_symbols(planner);
	if (r < 0)
		return r;
	hook_plan_sort(plan);
	r = hook_islands_place(planner->input->maps, plan);
	if (r < 0)
		return r;
	drop_entries_of_plan(planner);
	name_forwards(planner);
	r = planner_reach(planner);
	if (r < 0)
		return r;
	return gadgets_find(&planner->search, planner->found, plan);
}

static int read_list(const struct hook_planner_input *input, struct link_map_list *ret)
{
	struct link_map_input list = { .reader = input->reader, .maps = input->maps,
				       .exe_base = input->exe_base };

	link_map_parse_auxv(input->auxv, input->auxv ? input->auxv_bytes : 0, &list.auxv);
	return link_map_read(&list, ret);
}

static void planner_free(struct planner *planner)
{
	allocators_free(planner->found);
	link_map_done(&planner->list);
	free(planner->plan);
	free(planner);
}

static struct planner *planner_new(const struct hook_planner_input *input)
{
	struct planner *planner = calloc(1, sizeof(*planner));

	if (!planner)
		return NULL;
	planner->input = input;
	planner->plan = calloc(1, sizeof(*planner->plan));
	planner->gaps = (struct entry_gaps){ .reader = input->reader, .maps = input->maps };
	planner->search = (struct allocators_input){
		.reader = input->reader, .maps = input->maps, .list = &planner->list,
		.track = input->track, .custom = input->custom,
		.file = input->file, .file_context = input->file_context,
	};
	if (!planner->plan) {
		planner_free(planner);
		return NULL;
	}
	return planner;
}

int hook_planner_run(const struct hook_planner_input *input, struct hook_plan *ret)
{
	struct planner *planner = planner_new(input);
	int r = planner ? read_list(input, &planner->list) : -ENOMEM;

	if (r == 0)
		r = allocators_find(&planner->search, &planner->found);
	if (r == 0)
		r = make_plan(planner);
	if (r == 0)
		spare_copy(ret, planner->plan, sizeof(*ret));
	if (planner)
		planner_free(planner);
	return r;
}
