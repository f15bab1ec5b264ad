/* SPDX-License-Identifier: MIT */
/*
 * fields.c - variables and types of all modules, and what pointers lead to.
 *
 * What is only declared where it is used (struct cache; in a header) is looked up by its
 * qualified name: in modules that were asked about already, then in the first few others.
 * libstdc++'s lists, trees and hash tables link their nodes by a base class that has no
 * value; the type of the value is taken from the container's template arguments instead,
 * and carried from node to node.
 */
#include "src/debuginfo/fields.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/debuginfo/debug_modules.h"
#include "src/debuginfo/type_names.h"
#include "src/debuginfo/type_shape.h"

#define MAX_FOREIGN	16u	/* modules that are opened to look for a type */
#define MAX_COMPLETED	(1u << 16)

struct fields {
	const struct modules *modules;
	struct debug_modules *debug;
	struct hashmap completed;	/* a declaration -> index in complete + 1, or 0 */
	Dwarf_Die *complete;
	size_t complete_count, complete_room;
};

int fields_new(const struct modules *modules, struct fields **ret)
{
	struct fields *fields = calloc(1, sizeof(*fields));

	if (!fields || debug_modules_new(NULL, &fields->debug) < 0) {
		free(fields);
		return -ENOMEM;
	}
	fields->modules = modules;
	*ret = fields;
	return 0;
}

void fields_free(struct fields *fields)
{
	if (!fields)
		return;
	debug_modules_free(fields->debug);
	hashmap_done(&fields->completed);
	free(fields->complete);
	free(fields);
}

struct debug_index *fields_index(struct fields *fields, const struct module *module)
{
	return debug_modules_get(fields->debug, module);
}

/* ---- variables ---- */

bool fields_type_of(Dwarf_Die *variable, struct field_type *ret)
{
	*ret = (struct field_type){ .die = { .addr = NULL } };
	return variable->addr && type_of_entry(variable, &ret->die);
}

static bool find_variable(struct fields *fields, const struct module *module, uint64_t address,
			  bool thread_local, struct field_variable *ret)
{
	struct debug_index *index = fields_index(fields, module);

	if (!index || !debug_index_variable(index, address, thread_local, &ret->variable))
		return false;
	ret->module = module;
	(void)fields_type_of(&ret->variable.die, &ret->type);
	return true;
}

bool fields_global(struct fields *fields, uint64_t address, struct field_variable *ret)
{
	const struct module *module = modules_find(fields->modules, address);

	if (!module || !find_variable(fields, module, address - module->bias, false, ret))
		return false;
	ret->variable.address += module->bias;
	return true;
}

bool fields_thread_local(struct fields *fields, const struct module *module, uint64_t offset,
			 struct field_variable *ret)
{
	return find_variable(fields, module, offset, true, ret);
}

/* ---- types by name ---- */

static bool type_in(struct fields *fields, uint32_t id, uint64_t hash, Dwarf_Die *ret)
{
	const struct module *module = modules_get(fields->modules, id);
	struct debug_index *index;

	if (!module || module->closed || module->kind != MODULE_FILE)
		return false;
	index = fields_index(fields, module);
	return index && debug_index_type(index, hash, ret);
}

/* first: id of the module to ask first, 0: none. */
static bool type_by_hash(struct fields *fields, uint32_t first, uint64_t hash, Dwarf_Die *ret)
{
	uint32_t foreign = 0;

	if (first && type_in(fields, first, hash, ret))
		return true;
	for (uint32_t id = 1; id <= modules_count(fields->modules); id++)
		if (debug_modules_has(fields->debug, id) && type_in(fields, id, hash, ret))
			return true;
	for (uint32_t id = 1; id <= modules_count(fields->modules) && foreign < MAX_FOREIGN; id++) {
		if (debug_modules_has(fields->debug, id))
			continue;
		foreign++;
		if (type_in(fields, id, hash, ret))
			return true;
	}
	return false;
}

bool fields_type_named(struct fields *fields, uint64_t near, const char *name,
		       struct field_type *ret)
{
	const struct module *module = modules_find(fields->modules, near);

	return type_by_hash(fields, module ? module->id : 0,
			    type_name_hash(TYPE_NAME_EMPTY, name), &ret->die);
}

static uint64_t keep_complete(struct fields *fields, const Dwarf_Die *die)
{
	size_t room = fields->complete_room ? fields->complete_room * 2 : 64;
	Dwarf_Die *grown;

	if (fields->complete_count == fields->complete_room) {
		grown = reallocarray(fields->complete, room, sizeof(*grown));
		if (!grown)
			return 0;
		fields->complete = grown;
		fields->complete_room = room;
	}
	fields->complete[fields->complete_count++] = *die;
	return fields->complete_count;
}

/* Replaces a type that is only declared by its definition. False: there is none. */
static bool complete(void *context, Dwarf_Die *type)
{
	struct fields *fields = context;
	uint64_t key = (uint64_t)(uintptr_t)type->addr, at = 0, hash;
	Dwarf_Die found;

	if (!type_is_record(type) || !dwarf_hasattr(type, DW_AT_declaration))
		return true;
	if (!hashmap_get(&fields->completed, key, &at)) {
		hash = debug_name_hash(type);
		if (hash && type_by_hash(fields, 0, hash, &found))
			at = keep_complete(fields, &found);
		if (hashmap_count(&fields->completed) < MAX_COMPLETED)
			(void)!hashmap_put(&fields->completed, key, at);
	}
	if (at)
		*type = fields->complete[at - 1];
	return at != 0;
}

uint64_t fields_size(const struct field_type *type)
{
	return type->die.addr ? type_size(&type->die) : 0;
}

/* ---- blocks ---- */

static void find_path(struct fields *fields, const struct field_type *type, bool open,
		      uint64_t offset, struct field_path *ret)
{
	const struct field_search search = { complete, fields, open };

	*ret = (struct field_path){ .fit = FIELD_NONE };
	if (type->die.addr)
		field_path_find(&search, &type->die, offset, ret);
}

void fields_walk(struct fields *fields, const struct field_type *type, uint64_t offset,
		 struct field_path *ret)
{
	find_path(fields, type, false, offset, ret);
}

/* Puts step before the path that was found. */
static void prepend(struct field_path *path, struct field_step step)
{
	if (path->fit == FIELD_NONE)
		return;
	if (path->count == FIELD_MAX_STEPS)
		path->count--;
	memmove(&path->step[1], &path->step[0], path->count * sizeof(path->step[0]));
	path->step[0] = step;
	path->count++;
}

static void walk_node(struct fields *fields, const struct field_view *view, uint64_t relative,
		      struct field_path *ret)
{
	if (relative >= view->node) {
		fields_walk(fields, &view->type, relative - view->node, ret);
		prepend(ret, (struct field_step){ .name = "_M_storage" });
		return;
	}
	*ret = (struct field_path){ .fit = FIELD_POINTER, .count = 1,
				    .step = { { .name = "_M_nxt" } } };
}

/* Whether a block of bytes can be n elements of size, with what an allocator adds. */
static bool is_array(uint64_t bytes, uint64_t base, uint64_t size)
{
	uint64_t first = base % size;

	return bytes >= first && (bytes - first) / size >= 2 && (bytes - first) % size < 32;
}

static void walk_array(struct fields *fields, const struct field_view *view, uint64_t size,
		       uint64_t offset, struct field_path *ret)
{
	uint64_t first = view->base % size;
	int64_t zero = view->array ? 0 : (int64_t)(view->base / size);

	if (offset < first)
		return;
	fields_walk(fields, &view->type, (offset - first) % size, ret);
	prepend(ret, (struct field_step){ .index = (int64_t)((offset - first) / size) - zero });
}

void fields_walk_block(struct fields *fields, const struct field_view *view, uint64_t bytes,
		       uint64_t offset, struct field_path *ret)
{
	uint64_t relative = offset - view->base, size = fields_size(&view->type);

	*ret = (struct field_path){ .fit = FIELD_NONE };
	if (view->node) {
		if (offset >= view->base)
			walk_node(fields, view, relative, ret);
		return;
	}
	if (size == 0 || offset >= bytes)
		return;
	if (!type_is_record(&view->type.die) && !type_is_array(&view->type.die)) {
		if (size >= 8)	/* char * and the like say nothing of what they point to */
			walk_array(fields, view, size, offset, ret);
		return;
	}
	if (!view->array && offset >= view->base)
		find_path(fields, &view->type, true, relative, ret);	/* open at its end */
	if (view->array || (ret->fit < FIELD_WORD && is_array(bytes, view->base, size)))
		walk_array(fields, view, size, offset, ret);
}

/* Bytes of links in libstdc++'s nodes before the value, 0: no such type. */
static uint64_t node_bytes(Dwarf_Die *type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} known[] = {
		{ "_Rb_tree_node_base", 32 }, { "_List_node_base", 16 },
		{ "_Hash_node_base", 8 }, { "_Fwd_list_node_base", 8 },
	};
	const char *name = type_is_record(type) ? dwarf_diename(type) : NULL;

	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].bytes;
	return 0;
}

/* A std::vector's elements always are an array, even one. */
static bool leads_to_array(const struct field_path *path)
{
	const char *name = path->count ? path->step[path->count - 1].name : NULL;

	return name && (strcmp(name, "_M_start") == 0 || strcmp(name, "_M_finish") == 0 ||
			strcmp(name, "_M_end_of_storage") == 0);
}

static bool pointee(struct fields *fields, const struct field_type *pointer, Dwarf_Die *ret)
{
	return pointer->die.addr && type_pointee(&pointer->die, ret) && type_strip(ret, ret) &&
	       complete(fields, ret);
}

bool fields_follow(struct fields *fields, const struct field_path *path,
		   const struct field_view *before, uint64_t base, struct field_view *ret)
{
	struct field_view view = { .base = base, .array = leads_to_array(path),
				   .element = path->element };

	if (before && !view.element.die.addr)
		view.element = before->element;
	if (before && before->node && path->count == 1 && !path->leaf.die.addr) {
		view.type = before->type;	/* from node to node */
		view.node = before->node;
		*ret = view;
		return true;
	}
	if (!pointee(fields, &path->leaf, &view.type.die))
		return false;
	view.node = node_bytes(&view.type.die);
	if (view.node)
		view.type = view.element;
	*ret = view;
	return view.type.die.addr != NULL;
}
