/* SPDX-License-Identifier: MIT */
/*
 * debug_index.c - variables and types of one module, by address and by name.
 *
 * Three walks, each made once and only if it is asked for: names outside functions
 * (variables and complete types), static variables in functions, ELF symbols. A variable's place
 * leads to no compile unit (.debug_aranges speaks of code), so units can't be chosen.
 * Qualified names are made on demand, by a walk of the one unit: to keep all of them
 * would cost more than the rest.
 * Each walk looks at a bounded number of entries; beyond that, what was not reached goes
 * by its ELF symbol.
 */
#include "src/leak/debug_index.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/demangle.h"
#include "src/dwarf_file.h"
#include "src/leak/data_symbols.h"
#include "src/leak/debug_walk.h"
#include "src/leak/type_names.h"
#include "src/leak/type_shape.h"
#include "src/symbol_table.h"

#define MAX_ENTRIES	(32u << 20)	/* of debug information in one walk: about 3 s */
#define MAX_KEPT	(1u << 20)	/* variables, and types, of one module */

/* In the order of the walks that find them. */
enum walked { WALKED_NONE = 0, WALKED_NAMES, WALKED_FUNCTIONS };

struct place {
	uint64_t address;
	Dwarf_Die die;
	bool nested;		/* in a namespace, class or function */
};
struct places {
	struct place *place;
	size_t count, room;
};
struct debug_index {
	const struct module *module;
	bool opened;
	enum walked walked;
	struct dwarf_file *file;
	Dwarf *dwarf;
	uint64_t dwarf_bias;	/* added to DWARF's addresses: the file's */
	uint64_t symbol_bias;	/* added to the file's: those of the symbol tables */
	uint64_t tls_low, tls_bytes;	/* PT_TLS: where the file has first values */
	struct data_symbols *symbols;
	struct symbol_table *functions;
	struct places places[2];	/* [thread_local], sorted after a walk */
	struct hashmap type;		/* name hash -> index in types */
	struct hashmap declared;	/* entry of a declared type -> name hash, in a walk */
	Dwarf_Die *types;
	size_t type_count, type_room;
};

int debug_index_new(const struct module *module, struct debug_index **ret)
{
	struct debug_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->module = module;
	*ret = index;
	return 0;
}

void debug_index_free(struct debug_index *index)
{
	if (!index)
		return;
	data_symbols_free(index->symbols);
	symbol_table_free(index->functions);
	free(index->places[0].place);
	free(index->places[1].place);
	hashmap_done(&index->type);
	hashmap_done(&index->declared);
	free(index->types);
	dwarf_file_close(index->file);
	free(index);
}

static void find_thread_local(struct debug_index *index, Elf *elf)
{
	size_t count;
	GElf_Phdr phdr;

	if (!elf || elf_getphdrnum(elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i < 256; i++)
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_TLS) {
			index->tls_low = phdr.p_vaddr;
			index->tls_bytes = phdr.p_memsz;
		}
}

/* What can't be opened stays NULL: nothing is found there. */
static void open_file(struct debug_index *index)
{
	Dwfl_Module *module;
	Dwarf_Addr bias = 0;

	if (index->opened)
		return;
	index->opened = true;
	if (index->module->kind == MODULE_JIT || index->module->kind == MODULE_SHIM ||
	    dwarf_file_open(index->module, &index->file) < 0)
		return;
	module = dwarf_file_module(index->file);
	find_thread_local(index, dwfl_module_getelf(module, &bias));
	index->symbol_bias = bias;
	if (data_symbols_new(module, &index->symbols) < 0)
		index->symbols = NULL;
	index->dwarf = dwfl_module_getdwarf(module, &bias);
	if (index->dwarf)
		index->dwarf_bias = bias;
}

uint64_t debug_index_bias(const struct debug_index *index)
{
	return 0 - index->dwarf_bias;
}

/* ---- walking ---- */

static bool constant_of(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret)
{
	Dwarf_Attribute value;
	Dwarf_Addr address;
	Dwarf_Word word;

	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
		*ret = op->number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (dwarf_getlocation_attr(location, op, &value) != 0 ||
		    dwarf_formaddr(&value, &address) != 0)
			return false;
		*ret = address;
		return true;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		if (dwarf_getlocation_attr(location, op, &value) != 0 ||
		    dwarf_formudata(&value, &word) != 0)
			return false;
		*ret = word;
		return true;
	}
	return false;
}

/* A variable that has one place for ever: address [+ constant], or offset and "thread-local". */
static bool fixed_place(Dwarf_Die *die, uint64_t *ret, bool *ret_thread_local)
{
	Dwarf_Attribute memory, *location = dwarf_attr(die, DW_AT_location, &memory);
	size_t count, i = 1;
	uint64_t address;
	Dwarf_Op *op;

	if (!location || dwarf_getlocation(location, &op, &count) != 0 || count == 0 ||
	    !constant_of(location, &op[0], &address))
		return false;
	*ret_thread_local = i < count && (op[i].atom == DW_OP_GNU_push_tls_address ||
					  op[i].atom == DW_OP_form_tls_address);
	i += *ret_thread_local;
	if (i < count && op[i].atom == DW_OP_plus_uconst)
		address += op[i++].number;
	*ret = address;
	return i == count;
}

static int add_place(struct places *places, const struct place *place)
{
	size_t room = places->room ? places->room * 2 : 256;
	struct place *grown;

	if (places->count >= MAX_KEPT)
		return 0;
	if (places->count == places->room) {
		grown = reallocarray(places->place, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		places->place = grown;
		places->room = room;
	}
	places->place[places->count++] = *place;
	return 0;
}

static int add_variable(struct debug_index *index, Dwarf_Die *die, bool nested)
{
	struct place place = { .die = *die, .nested = nested };
	bool thread_local;

	if (!fixed_place(die, &place.address, &thread_local))
		return 0;
	if (!thread_local)
		place.address += index->dwarf_bias;
	else if (place.address >= index->tls_bytes &&
		 place.address - index->tls_low < index->tls_bytes)
		place.address -= index->tls_low;	/* gcc 12 -gsplit-dwarf: no offset */
	return add_place(&index->places[thread_local], &place);
}

/* The hash of a type's name; one that was declared elsewhere before has that place's scope. */
static uint64_t name_hash_of(const struct debug_index *index, const struct debug_level *level,
			     const char *name)
{
	Dwarf_Attribute memory;
	Dwarf_Die die = level->die, declared;
	uint64_t hash;

	if (dwarf_attr(&die, DW_AT_specification, &memory) &&
	    dwarf_formref_die(&memory, &declared) &&
	    hashmap_get(&index->declared, (uint64_t)(uintptr_t)declared.addr, &hash))
		return hash;
	return type_name_hash(level->scope, name);
}

static int add_type(struct debug_index *index, const struct debug_level *level)
{
	Dwarf_Die die = level->die, *grown;
	const char *name = dwarf_diename(&die);
	size_t room = index->type_room ? index->type_room * 2 : 256;
	uint64_t hash, known;

	if (!name || index->type_count >= MAX_KEPT)
		return 0;
	hash = name_hash_of(index, level, name);
	if (dwarf_hasattr(&die, DW_AT_declaration))
		return hashmap_count(&index->declared) >= MAX_KEPT ? 0 :
		       hashmap_put(&index->declared, (uint64_t)(uintptr_t)die.addr, hash);
	if (hashmap_get(&index->type, hash, &known))
		return 0;
	if (index->type_count == index->type_room) {
		grown = reallocarray(index->types, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		index->types = grown;
		index->type_room = room;
	}
	index->types[index->type_count] = die;
	return hashmap_put(&index->type, hash, index->type_count++);
}

static int each_name(void *context, struct debug_level *level, unsigned int depth)
{
	struct debug_level *at = &level[depth];

	switch (at->tag) {
	case DW_TAG_variable:
		return add_variable(context, &at->die, depth > 0 ||
				    dwarf_hasattr(&at->die, DW_AT_specification));
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return add_type(context, at);
	}
	return 0;
}

static int each_static(void *context, struct debug_level *level, unsigned int depth)
{
	bool inside = false;

	if (level[depth].tag != DW_TAG_variable)
		return 0;
	for (unsigned int i = 0; i < depth && !inside; i++)
		inside = level[i].tag == DW_TAG_subprogram;
	return inside ? add_variable(context, &level[depth].die, true) : 0;
}

static bool enters_functions(void *context, struct debug_level *level)
{
	(void)context;
	return debug_walk_is_scope(level->tag) || level->tag == DW_TAG_subprogram ||
	       level->tag == DW_TAG_lexical_block;
}

static int by_address(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Without memory for more, what was found is all there is. */
static void walk(struct debug_index *index, enum walked how)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = how == WALKED_FUNCTIONS ? enters_functions : NULL, .budget = &budget,
		.each = how == WALKED_FUNCTIONS ? each_static : each_name, .context = index,
	};

	open_file(index);
	index->walked = how;
	if (!index->dwarf)
		return;
	(void)!debug_walk_all(&walk, index->dwarf);
	hashmap_done(&index->declared);
	index->declared = (struct hashmap){ .slot = NULL };
	for (int i = 0; i < 2; i++)
		if (index->places[i].count)
			qsort(index->places[i].place, index->places[i].count,
			      sizeof(struct place), by_address);
}

static void need(struct debug_index *index, enum walked how)
{
	while (index->walked < how)
		walk(index, index->walked + 1);
}

/* ---- names ---- */

/* Takes the tags "[abi:cxx11]" out, which nobody writes. */
static void cut_tags(char *text)
{
	char *tag;

	while ((tag = strstr(text, "[abi:"))) {
		size_t length = strcspn(tag, "]");

		length += tag[length] == ']';
		memmove(tag, tag + length, strlen(tag + length) + 1);
	}
}

static void set_name(char text[DEBUG_NAME_BYTES], const char *linkage_name)
{
	_cleanup_free_ char *shown = demangle(linkage_name);

	snprintf(text, DEBUG_NAME_BYTES, "%s", shown ? shown : linkage_name);
	if (!shown)
		text[strcspn(text, "@")] = '\0';	/* environ@@GLIBC_2.2.5 */
	cut_tags(text);
}

/* f(int) [const] to f, but "(anonymous namespace)::x" stays. */
static void cut_parameters(char *text)
{
	char *end = strrchr(text, ')');
	int open = 0;

	for (char *at = end; at && at > text; at--) {
		open += (*at == ')') - (*at == '(');
		if (open == 0) {
			if (strncmp(at, "(anonymous", 10) != 0)
				*at = '\0';
			return;
		}
	}
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute memory, *attribute;

	attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
	if (!attribute)
		attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
	return attribute ? dwarf_formstring(attribute) : NULL;
}

/* The walk that looks for one entry of a unit, for its scope's name. */
struct search {
	const void *wanted;	/* its die.addr */
	char *text;		/* DEBUG_NAME_BYTES, may be NULL */
	uint64_t scope;
};

static void append_scope(char text[DEBUG_NAME_BYTES], struct debug_level *level)
{
	size_t length = strlen(text);
	const char *linkage = level->tag == DW_TAG_subprogram ? linkage_name(&level->die) : NULL;
	const char *name = debug_scope_name(&level->die, level->tag);

	if (linkage) {
		set_name(text, linkage);
		cut_parameters(text);
		length = strlen(text);
	} else if (name && level->tag != DW_TAG_lexical_block) {
		length += (size_t)snprintf(text + length, DEBUG_NAME_BYTES - length, "%s", name);
	} else {
		return;
	}
	if (length < DEBUG_NAME_BYTES)
		snprintf(text + length, DEBUG_NAME_BYTES - length, "::");
}

static int is_wanted(void *context, struct debug_level *level, unsigned int depth)
{
	struct search *search = context;

	if (level[depth].die.addr != search->wanted)
		return 0;
	search->scope = level[depth].scope;
	if (search->text)
		search->text[0] = '\0';
	for (unsigned int i = 0; i < depth && search->text; i++)
		append_scope(search->text, &level[i]);
	return 1;
}

static bool search_unit(Dwarf_Die *die, bool functions, struct search *search)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = functions ? enters_functions : NULL, .budget = &budget,
		.each = is_wanted, .context = search,
	};
	Dwarf_Die unit;

	search->wanted = die->addr;
	return dwarf_diecu(die, &unit, NULL, NULL) && debug_walk_unit(&walk, &unit) == 1;
}

/* The entry that says in which scope a variable was declared. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Die declared;

	if (dwarf_attr(die, DW_AT_specification, &memory) && dwarf_formref_die(&memory, &declared))
		return declared;
	return *die;
}

static void name_variable(struct place *place, bool functions, char text[DEBUG_NAME_BYTES])
{
	const char *linkage = linkage_name(&place->die), *name = dwarf_diename(&place->die);
	Dwarf_Die declared = declaration_of(&place->die);
	struct search search = { .text = text };
	size_t length;

	text[0] = '\0';
	if (linkage && linkage[0] == '_') {
		set_name(text, linkage);
		return;
	}
	if (place->nested && !search_unit(&declared, functions, &search))
		text[0] = '\0';
	length = strlen(text);
	snprintf(text + length, DEBUG_NAME_BYTES - length, "%s", name ? name : "?");
}

/* ---- answers ---- */

static struct place *find_place(struct places *places, uint64_t address)
{
	size_t low = 0, high = places->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->place[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &places->place[low - 1] : NULL;
}

/* symbol: what the ELF symbols say of the address, or NULL. */
static bool from_place(struct debug_index *index, struct places *places, uint64_t address,
		       const struct data_symbol *symbol, struct debug_variable *ret)
{
	struct place *place = find_place(places, address);
	Dwarf_Die type;
	uint64_t bytes;

	if (!place || !type_of_entry(&place->die, &type))
		return false;
	bytes = type_size(&type);
	if (bytes == 0 && symbol && symbol->address == place->address)
		bytes = symbol->bytes;
	if (address - place->address >= bytes)
		return false;
	*ret = (struct debug_variable){ .address = place->address, .bytes = bytes,
					.die = place->die };
	name_variable(place, index->walked == WALKED_FUNCTIONS, ret->name);
	return true;
}

static void from_symbol(const struct data_symbol *symbol, uint64_t address,
			struct debug_variable *ret)
{
	*ret = (struct debug_variable){ .address = address, .bytes = symbol->bytes };
	set_name(ret->name, symbol->name);
}

bool debug_index_variable(struct debug_index *index, uint64_t address, bool thread_local,
			  struct debug_variable *ret)
{
	const struct data_symbol *symbol = NULL;
	uint64_t bias;

	need(index, WALKED_NAMES);
	bias = thread_local ? 0 : index->symbol_bias;
	if (index->symbols)
		symbol = data_symbols_find(index->symbols, address + bias, thread_local);
	if (from_place(index, &index->places[thread_local], address, symbol, ret))
		return true;
	need(index, WALKED_FUNCTIONS);
	if (from_place(index, &index->places[thread_local], address, symbol, ret))
		return true;
	if (symbol)
		from_symbol(symbol, symbol->address - bias, ret);
	return symbol != NULL;
}

bool debug_index_type(struct debug_index *index, uint64_t name_hash, Dwarf_Die *ret)
{
	uint64_t at;

	need(index, WALKED_NAMES);
	if (!hashmap_get(&index->type, name_hash, &at))
		return false;
	*ret = index->types[at];
	return true;
}

uint64_t debug_type_name_hash(Dwarf_Die *die)
{
	struct search search = { .text = NULL };
	const char *name = dwarf_diename(die);

	if (!name || !search_unit(die, false, &search))
		return 0;
	return type_name_hash(search.scope, name);
}

struct at_code {
	Dwarf_Addr pc;
	Dwarf_Die *ret;
};

static int holds_code(void *context, struct debug_level *level, unsigned int depth)
{
	struct at_code *at = context;

	if (level[depth].tag != DW_TAG_subprogram || dwarf_haspc(&level[depth].die, at->pc) != 1)
		return 0;
	*at->ret = level[depth].die;
	return 1;
}

bool debug_index_function(struct debug_index *index, uint64_t address, Dwarf_Die *ret)
{
	uint64_t budget = MAX_ENTRIES;
	struct at_code at = { .ret = ret };
	const struct debug_walk walk = { .budget = &budget, .each = holds_code, .context = &at };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	open_file(index);
	at.pc = address + debug_index_bias(index);
	while (index->dwarf && budget-- > 0 &&
	       dwarf_get_units(index->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		bool skeleton = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;

		if (dwarf_haspc(&die, at.pc) == 1 &&
		    debug_walk_unit(&walk, skeleton ? &split : &die) == 1)
			return true;
	}
	return false;
}

static void name_function(Dwarf_Die *die, char text[DEBUG_NAME_BYTES])
{
	const char *linkage = linkage_name(die), *name = dwarf_diename(die);

	if (linkage)
		set_name(text, linkage);
	else
		snprintf(text, DEBUG_NAME_BYTES, "%s", name ? name : "?");
	cut_parameters(text);
}

bool debug_index_function_name(struct debug_index *index, uint64_t address, Dwarf_Die *die,
			       char text[DEBUG_NAME_BYTES])
{
	const struct symbol *symbol;

	open_file(index);
	if (die) {
		name_function(die, text);
		return true;
	}
	if (!index->file || (!index->functions &&
			     symbol_table_new(dwarf_file_module(index->file),
					      &index->functions) < 0))
		return false;
	symbol = symbol_table_find(index->functions, address + index->symbol_bias);
	if (symbol) {
		set_name(text, symbol->name);
		cut_parameters(text);
	}
	return symbol != NULL;
}
