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
 */
#include "src/plan/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/plan/plt.h"

/* Names that are looked up although they are no entry points. */
static const char *const marker_names[] = {
	"gnu_get_libc_version", "__libc_malloc", "__libc_calloc", "__libc_realloc",
	"__libc_free", "mi_version", "tc_version", "mallctl", "__malloc_donate",
	"__libc_start_main", "__libc_stack_end", "_dl_debug_state",
	"__malloc_arena_thread_freeres", "__libc_malloc_impl", "__cxa_throw",
	"rust_eh_personality", NULL
};

/* One module being searched. */
struct search {
	const struct allocators_input *input;
	struct allocators *found;
	struct allocator_module *module;
	bool kept;	/* module stays in found->module */
	const char *prefix;	/* of the names that are looked for */
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

static bool is_custom(const struct custom_functions *custom, const char *name)
{
	for (uint32_t i = 0; custom && i < custom->count; i++) {
		if (custom->function[i].address == 0 &&
		    strcmp(custom->function[i].name, name) == 0)
			return true;
	}
	return false;
}

/* For symtab_read: anything that allocators_lookup may be asked for. */
static bool is_wanted(const void *custom, const char *name)
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
	return is_custom(custom, name);
}

int allocators_lookup(const struct allocator_module *module, const char *name,
		      struct elf_symbol *ret)
{
	int r = elf_image_lookup(&module->image, name, ret);

	if (r < 0 && module->has_symtab)
		r = symtab_lookup(&module->symtab, name, ret);
	return r;
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
	family->uses_tls = kind == HOOK_FAMILY_MALLOC && allocator_uses_tls(name);
	family->keeps_registers = kind == HOOK_FAMILY_CUSTOM ||
				  (kind == HOOK_FAMILY_MALLOC &&
				   allocator_is_known_to_callers(name));
	if (kind == HOOK_FAMILY_MALLOC)
		allocator_version(search->module, name, family->version);
	family->usable = allocator_usable(search->module, name, search->prefix);
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
	struct elf_symbol symbol;

	return !search->module->is_exe &&
	       search->module->image.base == list->interpreter_base &&
	       allocators_lookup(search->module, "__libc_start_main", &symbol) != 0;
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
			   "", add_family(search, allocator_family(module, ""),
					  HOOK_FAMILY_MALLOC));
	for (const char *const *prefix = allocator_prefixes + 1; *prefix; prefix++) {
		search->prefix = *prefix;
		if (defines(module, *prefix, "malloc"))
			add_groups(search, 1u << ALLOCATOR_STANDARD | 1u << ALLOCATOR_JEMALLOC,
				   *prefix, add_family(search, "jemalloc", HOOK_FAMILY_MALLOC));
	}
	search->prefix = "";
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

/* libc's, by which programs sandbox themselves. They find no block: without room, they are not. */
static void find_confining(struct search *search)
{
	struct elf_symbol symbol;

	if (allocators_lookup(search->module, "__libc_start_main", &symbol) != 0 ||
	    search->found->family_count >= HOOK_MAX_FAMILIES - 1)
		return;
	if (defines(search->module, "", "prctl") || defines(search->module, "", "syscall"))
		add_groups(search, 1u << ALLOCATOR_CONFINING, "",
			   add_family(search, "confining", HOOK_FAMILY_LOADER));
}

/* True, if the module has the function. */
static bool find_custom_symbol(const struct allocator_module *module,
			       const struct custom_function *function, struct elf_symbol *ret)
{
	if (function->address)
		*ret = (struct elf_symbol){ .address = function->address, .type = STT_FUNC };
	else if (allocators_lookup(module, function->name, ret) < 0 || ret->type == STT_OBJECT)
		return false;
	return ret->address >= module->image.low && ret->address < module->image.high;
}

/*
 * May calls of a function of module be left by an exception, or unwound by a thread's cancellation?
 * If there is an unwinder: libgcc_s, or in a static program what throws.
 */
static bool may_unwind(const struct search *search)
{
	const struct link_map_list *list = search->input->list;
	struct elf_symbol symbol;
	struct elf_image image;

	if (allocators_lookup(search->module, "__cxa_throw", &symbol) == 0 ||
	    allocators_lookup(search->module, "rust_eh_personality", &symbol) == 0)
		return true;
	for (size_t i = 0; i < list->count; i++) {
		if (allocators_open_image(search->input, &list->module[i], &image) == 0 &&
		    elf_image_lookup(&image, "_Unwind_RaiseException", &symbol) == 0)
			return true;
	}
	return false;
}

/* The program's own functions that the user has named: the first module that has one. */
static void find_custom(struct search *search, const struct custom_functions *custom)
{
	static const struct allocator_name name[2][3] = {
		{ { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_ALLOC, false },
		  { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_REALLOC, false },
		  { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_FREE, false } },
		{ { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_ALLOC, true },
		  { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_REALLOC, true },
		  { "", NULL, ALLOCATOR_CUSTOM, RING_SHAPE_CUSTOM_FREE, true } },
	};
	struct allocators *found = search->found;
	bool unwinds = false;
	int family = -1;

	for (uint32_t i = 0; custom && i < custom->count; i++) {
		const struct custom_function *function = &custom->function[i];
		size_t before = found->symbol_count;
		struct elf_symbol symbol;

		if (found->has_custom[i] || !find_custom_symbol(search->module, function, &symbol))
			continue;
		if (family < 0) {
			family = add_family(search, "custom", HOOK_FAMILY_CUSTOM);
			unwinds = may_unwind(search);
		}
		if (family < 0)
			return;
		add_symbol(search, &name[unwinds || custom_function_may_throw(function)]
					 [function->shape - RING_SHAPE_CUSTOM_ALLOC],
			   function->name, &symbol, family);
		found->has_custom[i] = found->symbol_count > before;
		if (found->has_custom[i])
			found->symbol[before].arguments = function->arguments;
	}
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
		r = symtab_read(&file, &module->image, is_wanted, input->custom, &module->symtab);
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
	struct search search = { .input = input, .found = found, .prefix = "" };
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
	if (r == 0)
		find_custom(&search, input->custom);
	if (r == 0)
		find_confining(&search);
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

int allocators_symbol_reached(const struct allocators *found,
			      const struct allocator_module *module, uint64_t *target)
{
	const struct elf_image *image = &module->image;
	int index = allocators_symbol_at(found, *target);
	struct elf_symbol own;
	char name[PLT_NAME_BYTES];

	if (index >= 0 || plt_resolve(image, *target, target, name) < 0)
		return index;
	index = allocators_symbol_at(found, *target);
	if (index < 0)
		index = symbol_called(found, name);
	if (*target < image->low || *target >= image->high)
		*target = 0;
	else if (*name)
		*target = elf_image_lookup(image, name, &own) == 0 ? own.address : 0;
	return index;
}
