/* SPDX-License-Identifier: MIT */
/*
 * assigned_debug.c - see assigned_debug.h.
 *
 * Like src/cu_index.c, but for what it does not keep: the entries themselves, and
 * their variables. Compile units are found by their own ranges, functions by a
 * table made per unit on the first question. dwarf_getscopes() was not used: it
 * calls itself for every level of a hostile tree, and takes 10 ms an address.
 * A debug_info opens the module's file once more, beside the symbolizer's, because
 * that gives its Dwarf to nobody.
 */
#include "src/leak/assigned_debug_private.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "inject/plt.h"
#include "src/leak/assigned_type.h"

#define MAX_RANGES	(4u << 20)
#define MAX_GLOBALS	(1u << 20)
#define MAX_SYMBOLS	(1u << 20)

/* Room for one more; the array may move. NULL without memory, the array is then as before. */
static void *grow(void *array, size_t size, size_t count, size_t *room)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return array;
	grown = reallocarray(array, more, size);
	if (grown)
		*room = more;
	return grown;
}

/* ---- ranges ---- */

static int add_ranges(struct code_ranges *ranges, Dwarf_Die *from, size_t index)
{
	struct code_range new = { .index = index, .die = *from };
	ptrdiff_t offset = 0;
	Dwarf_Addr base;

	while ((offset = dwarf_ranges(from, offset, &base, &new.low, &new.high)) > 0) {
		struct code_range *range;

		if (new.low >= new.high || ranges->count >= MAX_RANGES)
			continue;
		range = grow(ranges->range, sizeof(*range), ranges->count, &ranges->room);
		if (!range)
			return -ENOMEM;
		ranges->range = range;
		range[ranges->count++] = new;
	}
	return 0;
}

static int by_low(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

static void sort_ranges(struct code_ranges *ranges)
{
	if (ranges->count > 0)
		qsort(ranges->range, ranges->count, sizeof(*ranges->range), by_low);
}

const struct code_range *debug_find_range(const struct code_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges->range[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned int looked = 0; low > 0 && looked < 8; looked++) {
		if (address < ranges->range[--low].high)
			return &ranges->range[low];
	}
	return NULL;
}

/* ---- what lies in a unit outside of functions ---- */

static bool is_container(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

int assigned_walk_unit(Dwarf_Die *tree, int (*each)(void *context, Dwarf_Die *die), void *context)
{
	Dwarf_Die level[DEBUG_MAX_DEPTH];
	unsigned int depth = 0;
	int r = 0;

	if (dwarf_child(tree, &level[0]) != 0)
		return 0;
	for (unsigned int visits = 0; visits < DEBUG_MAX_VISITS; visits++) {
		r = each(context, &level[depth]);
		if (r < 0)
			return r;
		if (is_container(dwarf_tag(&level[depth])) && depth + 1 < DEBUG_MAX_DEPTH &&
		    dwarf_child(&level[depth], &level[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&level[depth], &level[depth]) != 0) {
			if (depth-- == 0)
				return 0;
		}
	}
	return 0;
}

static int add_function(void *context, Dwarf_Die *die)
{
	struct unit *unit = context;

	return dwarf_tag(die) == DW_TAG_subprogram ? add_ranges(&unit->function, die, 0) : 0;
}

int debug_build_unit(struct unit *unit)
{
	int r = unit->built ? 0 : assigned_walk_unit(&unit->tree, add_function, unit);

	if (!unit->built)
		sort_ranges(&unit->function);
	unit->built = true;
	return r;
}

/* ---- opening ---- */

static int add_unit(struct debug_info *info, Dwarf_Die *die, Dwarf_Die *split)
{
	struct unit *unit = grow(info->unit, sizeof(*unit), info->unit_count, &info->unit_room);
	size_t before = info->unit_range.count;
	int r;

	if (!unit)
		return -ENOMEM;
	info->unit = unit;
	unit += info->unit_count;
	*unit = (struct unit){ .die = *die, .tree = split ? *split : *die };
	r = add_ranges(&info->unit_range, die, info->unit_count);
	/* A unit that names no ranges: those of its functions. */
	if (r == 0 && info->unit_range.count == before) {
		r = debug_build_unit(unit);
		for (size_t i = 0; r == 0 && i < unit->function.count; i++)
			r = add_ranges(&info->unit_range, &unit->function.range[i].die,
				       info->unit_count);
	}
	info->unit_count++;
	return r;
}

static int read_units(struct debug_info *info)
{
	Dwarf_Die die, split;
	Dwarf_CU *unit = NULL;
	uint8_t type;
	int r = 0;

	while (r == 0 &&
	       dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		bool skeleton = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;

		if (type == DW_UT_compile || type == DW_UT_skeleton)
			r = add_unit(info, &die, skeleton ? &split : NULL);
	}
	sort_ranges(&info->unit_range);
	return r;
}

/*
 * Reads the size of the thread-local block from the program headers. Only a program's own has a
 * fixed place; a library is told from a program by its having no interpreter.
 */
static void read_tls(struct debug_info *info)
{
	const struct module *module = info->module;
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	bool program;

	if (!module->file || module->file_bytes < sizeof(header))
		return;
	memcpy(&header, module->file, sizeof(header));
	program = header.e_type == ET_EXEC;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		uint64_t at = header.e_phoff + i * sizeof(phdr);

		if (at < header.e_phoff || at > module->file_bytes ||
		    sizeof(phdr) > module->file_bytes - at)
			break;
		memcpy(&phdr, module->file + at, sizeof(phdr));
		program |= phdr.p_type == PT_INTERP;
		if (phdr.p_type == PT_TLS && phdr.p_align < 65536 && phdr.p_memsz < UINT32_MAX) {
			uint64_t align = phdr.p_align ? phdr.p_align : 1;

			info->tls_bytes = (phdr.p_memsz + align - 1) / align * align;
		}
	}
	if (!program)
		info->tls_bytes = 0;
}

int assigned_debug_open(const struct module *module, struct debug_info **ret)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int r = info ? 0 : -ENOMEM;

	if (r == 0) {
		info->module = module;
		r = dwarf_file_open(module, &info->file);
	}
	if (r == 0)
		r = cfi_rules_new(&info->cfi);
	if (r == 0) {
		info->dwarf = dwfl_module_getdwarf(dwarf_file_module(info->file), &info->bias);
		read_tls(info);
		if (info->dwarf)
			r = read_units(info);
	}
	if (r < 0) {
		assigned_debug_close(info);
		return r;
	}
	*ret = info;
	return 0;
}

void assigned_debug_close(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->unit_count; i++)
		free(info->unit[i].function.range);
	free(info->unit);
	free(info->unit_range.range);
	free(info->global);
	free(info->symbol);
	cfi_rules_free(info->cfi);
	dwarf_file_close(info->file);
	free(info);
}

/* ---- by address ---- */

static int add_global(void *context, Dwarf_Die *die)
{
	struct debug_place place = { .where = DEBUG_NOWHERE };
	struct debug_info *info = context;
	struct global *global;
	Dwarf_Attribute memory;

	if (dwarf_tag(die) != DW_TAG_variable || info->global_count >= MAX_GLOBALS ||
	    !dwarf_attr(die, DW_AT_location, &memory))
		return 0;
	debug_read_place(info, NULL, &memory, 0, &place);
	if (place.where == DEBUG_NOWHERE)
		return 0;
	global = grow(info->global, sizeof(*global), info->global_count, &info->global_room);
	if (!global)
		return -ENOMEM;
	info->global = global;
	global[info->global_count++] = (struct global){ place.where == DEBUG_THREAD,
							(uint64_t)place.offset, *die };
	return 0;
}

static int compare_globals(const struct global *a, const struct global *b)
{
	if (a->thread != b->thread)
		return a->thread ? 1 : -1;
	return (a->address > b->address) - (a->address < b->address);
}

static int by_address(const void *left, const void *right)
{
	return compare_globals(left, right);
}

static void build_globals(struct debug_info *info)
{
	info->globals_built = true;
	for (size_t i = 0; i < info->unit_count; i++) {
		if (assigned_walk_unit(&info->unit[i].tree, add_global, info) < 0)
			break;	/* without memory: those that there are */
	}
	if (info->global_count > 0)
		qsort(info->global, info->global_count, sizeof(*info->global), by_address);
}

static bool find_global(struct debug_info *info, bool thread, uint64_t address, Dwarf_Die *ret,
			uint64_t *ret_offset)
{
	const struct global wanted = { .thread = thread, .address = address };
	size_t low = 0, high;
	uint64_t size, offset;
	Dwarf_Die type;

	if (!info->globals_built)
		build_globals(info);
	high = info->global_count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_globals(&info->global[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || info->global[low - 1].thread != thread)
		return false;
	*ret = info->global[low - 1].die;
	offset = address - info->global[low - 1].address;
	size = assigned_type_of(ret, &type) ? assigned_type_size(&type) : 0;
	*ret_offset = offset;
	return offset < (size ? size : 1);
}

bool assigned_debug_global(struct debug_info *info, uint64_t address, Dwarf_Die *ret,
			   uint64_t *ret_offset)
{
	return find_global(info, false, address, ret, ret_offset);
}

/* A static variable of the scopes' functions. */
static bool find_static(struct debug_info *info, const struct debug_scopes *scopes,
			enum debug_where where, uint64_t address, Dwarf_Die *ret,
			uint64_t *ret_offset)
{
	for (unsigned int i = 0; i < scopes->variable_count; i++) {
		struct debug_place place;
		Dwarf_Die type;
		uint64_t size;

		assigned_debug_place(info, scopes, &scopes->variable[i], scopes->address, &place);
		if (place.where != where || (uint64_t)place.offset > address)
			continue;
		*ret = scopes->variable[i].die;
		*ret_offset = address - (uint64_t)place.offset;
		size = assigned_type_of(ret, &type) ? assigned_type_size(&type) : 0;
		if (*ret_offset < (size ? size : 1))
			return true;
	}
	return false;
}

bool assigned_debug_static(struct debug_info *info, const struct debug_scopes *scopes,
			   uint64_t address, Dwarf_Die *ret, uint64_t *ret_offset)
{
	return find_static(info, scopes, DEBUG_STATIC, address, ret, ret_offset);
}

/* Variant II: a program's own block ends at fs. */
bool assigned_debug_thread(struct debug_info *info, const struct debug_scopes *scopes,
			   int64_t from_fs, Dwarf_Die *ret, uint64_t *ret_offset)
{
	uint64_t offset = (uint64_t)from_fs + info->tls_bytes;

	if (from_fs >= 0 || offset >= info->tls_bytes)
		return false;
	return (scopes && find_static(info, scopes, DEBUG_THREAD, offset, ret, ret_offset)) ||
	       find_global(info, true, offset, ret, ret_offset);
}

static int symbol_by_address(const void *left, const void *right)
{
	const struct data_symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Data symbols of the file and of its debug file. */
static void build_symbols(struct debug_info *info)
{
	Dwfl_Module *module = dwarf_file_module(info->file);
	int count = dwfl_module_getsymtab(module);

	info->symbols_built = true;
	if (count <= 0)
		return;
	if (count > (int)MAX_SYMBOLS)
		count = MAX_SYMBOLS;
	info->symbol = calloc((size_t)count, sizeof(*info->symbol));
	if (!info->symbol)
		return;
	for (int i = 0; i < count; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL,
							   NULL);

		if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT &&
		    symbol.st_shndx != SHN_UNDEF)
			info->symbol[info->symbol_count++] =
				(struct data_symbol){ address, symbol.st_size, name };
	}
	qsort(info->symbol, info->symbol_count, sizeof(*info->symbol), symbol_by_address);
}

const char *assigned_debug_symbol(struct debug_info *info, uint64_t address, uint64_t *ret_offset)
{
	size_t low = 0, high;

	if (!info->symbols_built)
		build_symbols(info);
	high = info->symbol_count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (info->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - info->symbol[low - 1].address >= info->symbol[low - 1].size)
		return NULL;
	*ret_offset = address - info->symbol[low - 1].address;
	return info->symbol[low - 1].name;
}

/* ---- the linkage table ---- */

static int read_module(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const uint8_t *from = module_bytes(context, address, bytes, NULL);

	if (!from)
		return -EFAULT;
	memcpy(buffer, from, bytes);
	return 0;
}

void assigned_debug_stub(struct debug_info *info, uint64_t address, char name[64])
{
	const struct module *module = info->module;
	struct elf_reader reader = { read_module, (void *)(uintptr_t)module };
	uint64_t first = module->segment_count ? module->segment[0].address : 0, slot;

	if (!info->image_opened) {
		info->image_opened = true;
		info->has_image = elf_image_open(&reader, first, &info->image) == 0;
	}
	name[0] = '\0';
	if (info->has_image && plt_resolve(&info->image, address, &slot, name) < 0)
		name[0] = '\0';
}
