/* SPDX-License-Identifier: MIT */
/*
 * allocators.c - finds every allocator family among the target's modules.
 *
 * Each module is asked for "malloc" and the few other names that give a family
 * away, and only then for all of the table. Dynamic symbols come from memory; the
 * executable's file is consulted for what it does not export, and there local
 * functions with common names ("free") are not believed. ld.so's own minimal
 * malloc (glibc up to 2.30) serves only until libc is there and is left out.
 *
 * Deciding by file names was rejected: allocators are linked into executables,
 * renamed and bundled. GOT contents were rejected as well: they miss dlsym and
 * whatever has not been bound yet.
 *
 * An allocator's helpers are what its hooked entries reach by direct branches.
 * Taking all of its library instead was rejected: there are libraries with an
 * allocator inside, and allocators with functions that allocate for the program.
 */
#include "inject/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "inject/code_ranges.h"
#include "inject/entry_decode.h"
#include "inject/plt.h"

/* Of one module: several times what the largest allocator needs. */
#define HELPERS_MAX_FUNCTIONS	2048u
#define HELPERS_MAX_BRANCHES	16384u
#define HELPERS_MAX_BYTES	(4u << 20)

/* Names that are looked up although they are no entry points. */
static const char *const marker_names[] = {
	"gnu_get_libc_version", "__libc_malloc", "__libc_calloc", "__libc_realloc",
	"__libc_free", "mi_version", "tc_version", "mallctl", "__malloc_donate",
	"__libc_start_main", "__libc_stack_end", "_dl_debug_state", NULL
};

/* One module being searched. */
struct search {
	const struct allocators_input *input;
	struct allocators *found;
	struct allocator_module *module;
	bool kept;	/* module stays in found->module */
};

/* name without the prefix, or NULL when it has another one. */
static const char *strip_prefix(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static bool is_known_entry(const char *name, bool may_be_prefixed_only)
{
	for (const struct allocator_name *n = allocator_names; n->symbol; n++) {
		if (may_be_prefixed_only && n->group != ALLOCATOR_STANDARD &&
		    n->group != ALLOCATOR_JEMALLOC)
			continue;
		if (n->symbol[0] == name[0] && strcmp(n->symbol, name) == 0)
			return true;
	}
	return false;
}

/* For symtab_read: anything that allocators_lookup may be asked for. */
static bool is_wanted(const char *name)
{
	for (const char *const *marker = marker_names; *marker; marker++) {
		if (strcmp(*marker, name) == 0)
			return true;
	}
	for (const char *const *prefix = allocator_prefixes; *prefix; prefix++) {
		const char *rest = strip_prefix(name, *prefix);

		if (rest && is_known_entry(rest, **prefix != '\0'))
			return true;
	}
	return false;
}

int allocators_lookup(const struct allocator_module *module, const char *name,
		      struct elf_symbol *ret)
{
	int r = elf_image_lookup(&module->image, name, ret);

	if (r < 0 && module->has_symtab)
		r = symtab_lookup(&module->symtab, name, ret);
	return r;
}

static bool has_marker(const struct allocator_module *module, const char *name)
{
	struct elf_symbol symbol;

	return allocators_lookup(module, name, &symbol) == 0;
}

/* Whose malloc this is, by what else the module defines. Wrappers' markers come before libc's. */
static const char *family_name(const struct allocator_module *module, const char *prefix)
{
	if (*prefix)
		return "jemalloc";
	if (has_marker(module, "mi_version"))
		return "mimalloc";
	if (has_marker(module, "tc_version"))
		return "tcmalloc";
	if (has_marker(module, "mallctl"))
		return "jemalloc";
	if (has_marker(module, "gnu_get_libc_version") ||
	    (module->has_symtab && has_marker(module, "__libc_malloc")))
		return "glibc";
	if (has_marker(module, "__libc_start_main") || has_marker(module, "__malloc_donate"))
		return "musl";
	return "other";
}

/* Puts the module into the result, once; its place or -ENOSPC. */
static int keep_module(struct search *search)
{
	struct allocators *found = search->found;

	if (search->kept)
		return (int)found->module_count - 1;
	if (found->module_count >= ALLOCATORS_MAX_MODULES)
		return -ENOSPC;
	search->kept = true;
	return (int)found->module_count++;
}

/* Adds a family of this module; its index or -ENOSPC. */
static int add_family(struct search *search, const char *name, enum hook_family_kind kind)
{
	struct allocators *found = search->found;
	struct hook_family *family;

	if (found->family_count >= HOOK_MAX_FAMILIES || keep_module(search) < 0) {
		found->left_out++;
		return -ENOSPC;
	}
	family = &found->family[found->family_count];
	memset(family, 0, sizeof(*family));
	snprintf(family->name, sizeof(family->name), "%s", name);
	memcpy(family->module, search->module->path, sizeof(family->module));
	family->kind = kind;
	if (kind == HOOK_FAMILY_MALLOC)
		allocator_version(search->module, name, family->version);
	return (int)found->family_count++;
}

static bool has_address(const struct allocators *found, uint64_t address)
{
	for (size_t i = 0; i < found->symbol_count; i++) {
		if (found->symbol[i].address == address)
			return true;
	}
	return false;
}

static void add_symbol(struct search *search, const struct allocator_name *name,
		       const char *prefix, const struct elf_symbol *symbol, int family)
{
	struct allocators *found = search->found;
	struct allocator_symbol *out;

	if (has_address(found, symbol->address))
		return;
	if (found->symbol_count >= ALLOCATORS_MAX_SYMBOLS) {
		found->left_out++;
		return;
	}
	out = &found->symbol[found->symbol_count++];
	*out = (struct allocator_symbol){
		.name = name, .address = symbol->address, .size = symbol->size,
		.module = (uint16_t)(found->module_count - 1), .family = (uint16_t)family,
	};
	snprintf(out->display, sizeof(out->display), "%s%s", prefix,
		 name->display ? name->display : name->symbol);
	if (symbol->type == STT_GNU_IFUNC)
		out->skip = "chosen at run time (IFUNC)";
	else if (name->shape == RING_SHAPE_NONE)
		out->skip = "no hook of that shape";
}

/*
 * Linkers make some of libc local in static-pie programs; its other name tells it
 * from a function of the program.
 */
static bool has_libc_alias(const struct allocator_module *module, const char *name,
			   uint64_t address)
{
	char alias[SYMTAB_NAME_BYTES];
	struct elf_symbol symbol;

	snprintf(alias, sizeof(alias), "__libc_%s", name);
	return allocators_lookup(module, alias, &symbol) == 0 && symbol.address == address;
}

/*
 * Finds an entry point. Local functions may be called anything ("free"): only
 * names with a prefix of their own, or a second name in libc, are believed.
 */
static bool find_entry(const struct allocator_module *module, const char *prefix,
		       const struct allocator_name *name, struct elf_symbol *ret)
{
	char full[SYMTAB_NAME_BYTES];

	snprintf(full, sizeof(full), "%s%s", prefix, name->symbol);
	if (allocators_lookup(module, full, ret) < 0 || ret->type == STT_OBJECT ||
	    ret->address < module->image.low || ret->address >= module->image.high)
		return false;
	return ret->binding != STB_LOCAL || *prefix || name->group == ALLOCATOR_TCMALLOC ||
	       name->group == ALLOCATOR_MIMALLOC ||
	       has_libc_alias(module, name->symbol, ret->address);
}

/* True if the module defines prefix + symbol, a name of the table. */
static bool defines(const struct allocator_module *module, const char *prefix, const char *symbol)
{
	const struct allocator_name *n = allocator_names;
	struct elf_symbol found;

	while (n->symbol && strcmp(n->symbol, symbol) != 0)
		n++;
	return n->symbol && find_entry(module, prefix, n, &found);
}

/* Adds what the module defines of the groups in mask (1 << group). */
static void add_groups(struct search *search, unsigned int mask, const char *prefix, int family)
{
	for (const struct allocator_name *n = allocator_names; n->symbol && family >= 0; n++) {
		struct elf_symbol symbol;

		if ((mask & (1u << n->group)) && find_entry(search->module, prefix, n, &symbol))
			add_symbol(search, n, prefix, &symbol, family);
	}
}

/* ld.so that is not also the libc (musl's is) or the program (static-pie). */
static bool is_mere_loader(const struct search *search)
{
	const struct link_map_list *list = search->input->list;

	return !search->module->is_exe &&
	       search->module->image.base == list->interpreter_base &&
	       !has_marker(search->module, "__libc_start_main");
}

static void find_malloc(struct search *search)
{
	const struct allocator_module *module = search->module;
	bool has_malloc = !is_mere_loader(search) && defines(module, "", "malloc");

	if (has_malloc)
		add_groups(search,
			   1u << ALLOCATOR_STANDARD | 1u << ALLOCATOR_OPERATOR |
			   1u << ALLOCATOR_JEMALLOC | 1u << ALLOCATOR_TCMALLOC |
			   1u << ALLOCATOR_MIMALLOC,
			   "", add_family(search, family_name(module, ""), HOOK_FAMILY_MALLOC));
	for (const char *const *prefix = allocator_prefixes + 1; *prefix; prefix++) {
		if (defines(module, *prefix, "malloc"))
			add_groups(search, 1u << ALLOCATOR_STANDARD | 1u << ALLOCATOR_JEMALLOC,
				   *prefix, add_family(search, "jemalloc", HOOK_FAMILY_MALLOC));
	}
	if (!has_malloc && defines(module, "", "mi_malloc"))
		add_groups(search, 1u << ALLOCATOR_MIMALLOC, "",
			   add_family(search, "mimalloc", HOOK_FAMILY_MALLOC));
	if (!has_malloc && defines(module, "", "tc_malloc"))
		add_groups(search, 1u << ALLOCATOR_TCMALLOC, "",
			   add_family(search, "tcmalloc", HOOK_FAMILY_MALLOC));
}

static void find_mappings(struct search *search)
{
	if (defines(search->module, "", "mmap") || defines(search->module, "", "sbrk"))
		add_groups(search, 1u << ALLOCATOR_MAPPING, "",
			   add_family(search, "mmap", HOOK_FAMILY_MMAP));
}

/* _dl_debug_state, by the address that the loader itself gives to debuggers. */
static void find_loader(struct search *search)
{
	static const struct allocator_name notify = { "_dl_debug_state", NULL, ALLOCATOR_LOADER,
						      RING_SHAPE_DL_STATE, false };
	const struct elf_image *image = &search->module->image;
	uint64_t address = search->input->list->notify;
	struct elf_symbol symbol;
	int family;

	if (address < image->low || address >= image->high)
		return;
	if (allocators_lookup(search->module, notify.symbol, &symbol) < 0 ||
	    symbol.address != address)
		symbol = (struct elf_symbol){ .address = address, .type = STT_FUNC };
	family = add_family(search, "loader", HOOK_FAMILY_LOADER);
	if (family >= 0)
		add_symbol(search, &notify, "", &symbol, family);
}

/* The loader lists the program itself without a name; ask the kernel instead. */
static void set_path(const struct allocators_input *input, const struct link_map_module *listed,
		     struct allocator_module *module)
{
	const struct procmap *map = procmaps_find(input->maps, module->image.base);
	const char *path = listed->name;

	module->is_exe = *path == '\0';
	if (module->is_exe && map)
		path = map->path;
	snprintf(module->path, sizeof(module->path), "%s", path);
}

static int read_symtab(const struct allocators_input *input, struct allocator_module *module)
{
	const struct procmap *map = procmaps_find(input->maps, module->image.base);
	struct planner_file file;
	int r;

	if (!module->is_exe || !input->file || !map)
		return 0;
	r = input->file(input->file_context, map, &file);
	if (r == 0)
		r = symtab_read(&file, &module->image, is_wanted, &module->symtab);
	module->has_symtab = r == 0;
	return r == -ENOMEM ? r : 0;
}

int allocators_open_image(const struct allocators_input *input,
			  const struct link_map_module *module, struct elf_image *ret)
{
	uint64_t base = module->dynamic ? link_map_module_base(input->maps, module) :
					  input->list->exe_base;
	struct elf_image image;
	int r;

	if (!base)
		return -ENOENT;
	r = elf_image_open(input->reader, base, &image);
	if (r < 0)
		return r;
	if (image.dynamic != module->dynamic || image.bias != module->bias ||
	    image.machine != EM_X86_64)
		return -EBADMSG;
	*ret = image;
	return 0;
}

static int search_module(const struct allocators_input *input, struct allocators *found,
			 const struct link_map_module *listed)
{
	struct allocator_module spare = { 0 };
	struct search search = { .input = input, .found = found };
	int r;

	/* Built in place, so that nothing is copied when it is kept. */
	search.module = found->module_count < ALLOCATORS_MAX_MODULES ?
			&found->module[found->module_count] : &spare;
	memset(search.module, 0, sizeof(*search.module));
	if (allocators_open_image(input, listed, &search.module->image) < 0)
		return 0;
	set_path(input, listed, search.module);
	r = read_symtab(input, search.module);
	if (r == 0 && (input->track & ALLOCATOR_TRACK_MALLOC))
		find_malloc(&search);
	if (r == 0 && (input->track & ALLOCATOR_TRACK_MMAP))
		find_mappings(&search);
	if (r == 0)
		find_loader(&search);
	if (!search.kept)
		symtab_done(&search.module->symtab);
	return r;
}

/* ld.so and others are listed in every namespace; one look is enough. */
static bool seen_before(const struct link_map_list *list, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (list->module[i].dynamic == list->module[index].dynamic)
			return true;
	}
	return false;
}

int allocators_find(const struct allocators_input *input, struct allocators **ret)
{
	struct allocators *found = calloc(1, sizeof(*found));
	int r = found ? 0 : -ENOMEM;

	for (size_t i = 0; i < input->list->count && r == 0; i++) {
		if (!seen_before(input->list, i))
			r = search_module(input, found, &input->list->module[i]);
	}
	if (r < 0) {
		allocators_free(found);
		return r;
	}
	*ret = found;
	return 0;
}

void allocators_free(struct allocators *found)
{
	if (!found)
		return;
	for (size_t i = 0; i < found->module_count; i++)
		symtab_done(&found->module[i].symtab);
	free(found);
}

int allocators_symbol_at(const struct allocators *found, uint64_t address)
{
	for (size_t i = 0; i < found->symbol_count; i++) {
		if (found->symbol[i].address == address)
			return (int)i;
	}
	return -1;
}

/* What ld.so would bind name to, among the modules that define allocators. */
static int symbol_called(const struct allocators *found, const char *name)
{
	for (size_t i = 0; *name && i < found->module_count; i++) {
		struct elf_symbol symbol;

		if (elf_image_lookup(&found->module[i].image, name, &symbol) == 0)
			return allocators_symbol_at(found, symbol.address);
	}
	return -1;
}

/* Where a stub leads whose slot holds target: to be told by name before it is bound. */
static uint64_t stub_leads_to(const struct elf_image *image, uint64_t target, const char *name)
{
	struct elf_symbol symbol;

	if (target < image->low || target >= image->high)
		return 0;
	return *name && elf_image_lookup(image, name, &symbol) == 0 ? symbol.address : target;
}

int allocators_symbol_reached(const struct allocators *found,
			      const struct allocator_module *module, uint64_t target,
			      uint64_t *ret_address)
{
	int index = allocators_symbol_at(found, target);
	char name[PLT_NAME_BYTES];

	if (ret_address)
		*ret_address = target;
	if (index >= 0 || plt_resolve(&module->image, target, &target, name) < 0)
		return index;
	if (ret_address)
		*ret_address = stub_leads_to(&module->image, target, name);
	index = allocators_symbol_at(found, target);
	return index >= 0 ? index : symbol_called(found, name);
}

/* A function that hooked entries reach. */
struct helper {
	struct entry_span span;
	bool calls;	/* a hooked entry: the return address lies in here */
	bool jumps;	/* to a hooked entry: the return address lies in its caller */
};

struct helper_branch {
	uint16_t from, to;	/* indexes of helpers */
	bool is_jump;
};

struct helpers_walk {
	const struct allocators *found;
	const struct allocator_module *module;
	const uint8_t *fate;
	size_t count, branch_count, bytes;
	bool cut;	/* met a limit */
	struct helper helper[HELPERS_MAX_FUNCTIONS];
	struct helper_branch branch[HELPERS_MAX_BRANCHES];
	uint8_t code[ENTRY_MAX_CODE_BYTES];	/* of the helper being decoded */
};

static bool is_heap(const struct allocator_symbol *symbol)
{
	return symbol->name->group != ALLOCATOR_MAPPING && symbol->name->group != ALLOCATOR_LOADER;
}

static bool is_code(const struct elf_image *image, uint64_t address)
{
	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *segment = &image->phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
		    address - (segment->p_vaddr + image->bias) < segment->p_memsz)
			return true;
	}
	return false;
}

/* Index of the helper that holds address, added if it is new; -1: unknown code, no room. */
static int helper_at(struct helpers_walk *walk, uint64_t address)
{
	const struct entry_span *span;
	struct code_ranges ranges;

	for (size_t i = 0; i < walk->count; i++) {
		if (address >= walk->helper[i].span.low && address < walk->helper[i].span.high)
			return (int)i;
	}
	if (!is_code(&walk->module->image, address) ||
	    code_ranges_near(&walk->module->image, NULL, address, address, &ranges) < 0)
		return -1;
	span = code_ranges_find(&ranges, address);
	if (!span)
		return -1;
	if (walk->count >= HELPERS_MAX_FUNCTIONS) {
		walk->cut = true;
		return -1;
	}
	walk->helper[walk->count].span = *span;
	return (int)walk->count++;
}

static void add_branch(struct helpers_walk *walk, size_t from, int to, bool is_jump)
{
	if (to < 0 || (size_t)to == from)
		return;
	if (walk->branch_count >= HELPERS_MAX_BRANCHES) {
		walk->cut = true;
		return;
	}
	walk->branch[walk->branch_count++] =
		(struct helper_branch){ (uint16_t)from, (uint16_t)to, is_jump };
}

/* A branch of helper `from` leads to target: notes hooked entries, goes on to the rest. */
static void follow(struct helpers_walk *walk, size_t from, uint64_t target, bool is_jump)
{
	struct helper *helper = &walk->helper[from];
	uint64_t address;
	int symbol = allocators_symbol_reached(walk->found, walk->module, target, &address);
	uint8_t fate = ALLOCATOR_UNHOOKED;

	if (symbol >= 0 && is_heap(&walk->found->symbol[symbol]))
		fate = walk->fate[symbol];
	else if (symbol >= 0)
		return;
	if (fate == ALLOCATOR_OUTSIDE)
		return;
	if (fate == ALLOCATOR_UNHOOKED)
		add_branch(walk, from, helper_at(walk, address), is_jump);
	else if (is_jump)
		helper->jumps = true;
	else
		helper->calls = true;
}

/* call and jmp through a slot of the module, as -fno-plt has it. */
static void follow_slot(struct helpers_walk *walk, size_t from, uint64_t slot, bool is_jump)
{
	const struct elf_image *image = &walk->module->image;
	uint64_t target;

	if (slot >= image->low && slot < image->high && image->high - slot >= sizeof(target) &&
	    image->reader.read(image->reader.context, slot, &target, sizeof(target)) == 0)
		follow(walk, from, target, is_jump);
}

/* A function whose address is taken may be called by whom it is handed to. */
static void follow_pointer(struct helpers_walk *walk, size_t from, uint64_t target)
{
	int to = helper_at(walk, target);

	if (to >= 0 && walk->helper[to].span.low == target)
		follow(walk, from, target, false);
}

static void follow_instruction(struct helpers_walk *walk, size_t from, uint64_t end,
			       const ZydisDecodedInstruction *in)
{
	const struct entry_span *span = &walk->helper[from].span;
	bool by_rip = (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
		      in->raw.modrm.rm == 5;
	uint64_t there = end + (by_rip ? (uint64_t)in->raw.disp.value : in->raw.imm[0].value.u);
	bool is_jump = in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		       in->meta.category == ZYDIS_CATEGORY_COND_BR;

	if (in->mnemonic == ZYDIS_MNEMONIC_LEA && by_rip)
		follow_pointer(walk, from, there);
	if (!is_jump && in->meta.category != ZYDIS_CATEGORY_CALL)
		return;
	if (by_rip)
		follow_slot(walk, from, there, is_jump);
	else if (in->raw.imm[0].is_relative && (there < span->low || there >= span->high))
		follow(walk, from, there, is_jump);
}

static void decode_helper(struct helpers_walk *walk, size_t index)
{
	const struct elf_image *image = &walk->module->image;
	uint64_t low = walk->helper[index].span.low, bytes = walk->helper[index].span.high - low;
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	if (bytes > sizeof(walk->code) || bytes > HELPERS_MAX_BYTES - walk->bytes) {
		walk->cut = true;
		return;
	}
	walk->bytes += bytes;
	if (image->reader.read(image->reader.context, low, walk->code, bytes) < 0)
		return;
	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint64_t at = 0; at < bytes; at += in.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, walk->code + at,
							      bytes - at, &in)))
			in.length = 1;
		else
			follow_instruction(walk, index, low + at + in.length, &in);
	}
}

/* Who jumps to what jumps to an entry does so too. */
static void spread_jumps(struct helpers_walk *walk)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < walk->branch_count; i++) {
			const struct helper_branch *b = &walk->branch[i];

			if (!b->is_jump || !walk->helper[b->to].jumps || walk->helper[b->from].jumps)
				continue;
			walk->helper[b->from].jumps = true;
			changed = true;
		}
	}
}

static void walk_helpers(struct helpers_walk *walk)
{
	for (size_t i = 0; i < walk->found->symbol_count; i++) {
		const struct allocator_symbol *symbol = &walk->found->symbol[i];

		if (&walk->found->module[symbol->module] == walk->module && is_heap(symbol) &&
		    walk->fate[i] == ALLOCATOR_HOOKED)
			(void)helper_at(walk, symbol->address);
	}
	for (size_t i = 0; i < walk->count; i++)
		decode_helper(walk, i);
	spread_jumps(walk);
	for (size_t i = 0; i < walk->branch_count; i++) {
		const struct helper_branch *b = &walk->branch[i];

		if (!b->is_jump && walk->helper[b->to].jumps)
			walk->helper[b->from].calls = true;
	}
}

/* A library with an allocator that is not also the C library. */
static bool may_have_helpers(const struct allocators *found, size_t module)
{
	bool may = false;

	for (size_t i = 0; i < found->symbol_count && !found->module[module].is_exe; i++) {
		const struct hook_family *family = &found->family[found->symbol[i].family];

		if (found->symbol[i].module != module || family->kind != HOOK_FAMILY_MALLOC)
			continue;
		if (strcmp(family->name, "glibc") == 0 || strcmp(family->name, "musl") == 0)
			return false;
		may = true;
	}
	return may;
}

int allocators_helpers(const struct allocators *found, size_t module, const uint8_t *fate,
		       struct ring_range *ret, uint32_t room, bool *ret_complete)
{
	struct helpers_walk *walk;
	uint32_t count = 0;

	*ret_complete = true;
	if (!may_have_helpers(found, module))
		return 0;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk->found = found;
	walk->module = &found->module[module];
	walk->fate = fate;
	walk_helpers(walk);
	for (size_t i = 0; i < walk->count; i++) {
		if (!walk->helper[i].calls)
			continue;
		if (count < room)
			ret[count++] = (struct ring_range){ walk->helper[i].span.low,
							    walk->helper[i].span.high };
		else
			walk->cut = true;
	}
	*ret_complete = !walk->cut;
	free(walk);
	return (int)count;
}
