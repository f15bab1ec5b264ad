/* SPDX-License-Identifier: MIT */
/*
 * holder_names.c - names for the pointers of a chain, and the chain as text.
 *
 * The root gives the first name and its type; from there on each block is seen as what the
 * pointer to it points to, which gives the next member and with it the next type. A C++
 * object's own class goes before the declared one, as it is the whole of it; a type that
 * the caller knows from the allocation comes in where the chain has lost its own
 * (void *, an opaque handle). Where nothing is known a number stands.
 */
#include "src/leak/holders/holder_names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/leak/holders/chain_text.h"
#include "src/leak/holders/locals.h"
#include "src/leak/roots/tls_map.h"

#define MAX_DESCRIBED 4096u	/* pointers of one chain whose members are looked up */

struct holder_names {
	const struct holders_input *input;
	struct fields *fields;
	struct locals *locals;
	struct tls_map *tls;
};

/* A chain that is being written. */
struct writing {
	struct holder_names *names;
	struct holder_chain *chain;
	struct chain_text text;
	char where[DEBUG_NAME_BYTES + 64];	/* said at the end; "" nothing */
	struct field_path path;			/* of the last pointer */
	struct field_view view;			/* of the block that it led to */
	bool has_view;
};

int holder_names_new(const struct holders_input *input, struct holder_names **ret)
{
	struct holder_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->input = input;
	if (fields_new(input->modules, &names->fields) < 0 ||
	    locals_new(input->picture, input->modules, names->fields, &names->locals) < 0 ||
	    tls_map_new(input->picture, input->modules, &names->tls) < 0) {
		holder_names_free(names);
		return -ENOMEM;
	}
	*ret = names;
	return 0;
}

void holder_names_free(struct holder_names *names)
{
	if (!names)
		return;
	tls_map_free(names->tls);
	locals_free(names->locals);
	fields_free(names->fields);
	free(names);
}

void holder_chain_done(struct holder_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		free(chain->link[i].name);
		free(chain->link[i].function);
		free(chain->link[i].field);
	}
	free(chain->link);
	free(chain->text);
	*chain = (struct holder_chain){ .end = chain->end, .target = chain->target };
}

/* ---- a link ---- */

/* Strings for people: without memory they are missing. */
static char *copy(const char *text)
{
	return text && text[0] ? strdup(text) : NULL;
}

/* What has been found out about the place of a pointer in a variable. */
struct anchor {
	const char *name;
	const struct field_type *type;
	uint64_t base, bytes;
	uint64_t offset;	/* of the pointer in it */
};

/* Writes a root that is a variable, and the path in it. */
static void write_variable(struct writing *w, const struct anchor *anchor, struct holder_link *link)
{
	const char *piece;

	link->name = copy(anchor->name);
	link->base = anchor->base;
	link->bytes = anchor->bytes;
	chain_text_begin(&w->text, anchor->name);
	fields_walk(w->names->fields, anchor->type, anchor->offset, &w->path);
	if (w->path.fit >= FIELD_WORD || (w->path.fit == FIELD_PART && anchor->offset == 0))
		chain_text_path(&w->text, &w->path, &piece);
	else
		chain_text_offset(&w->text, NULL, (int64_t)anchor->offset, &piece);
	link->field = copy(piece);
}

static void write_words(struct writing *w, const char *words, struct holder_link *link)
{
	chain_text_begin(&w->text, words);
	chain_text_offset(&w->text, NULL, 0, NULL);
	if (!link->name)
		link->name = copy(words);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A word of a mapping that no variable is known for. */
static void write_mapping(struct writing *w, uint64_t address, struct holder_link *link)
{
	const struct module *module = modules_find(w->names->input->modules, address);
	const struct procmap *map = procmaps_find(&w->names->input->picture->maps, address);
	char words[DEBUG_NAME_BYTES];

	if (module) {
		snprintf(words, sizeof(words), "%s+0x%" PRIx64, base_name(module->path),
			 address - module->bias);
	} else {
		link->kind = HOLDER_MEMORY;
		snprintf(words, sizeof(words), "%s at 0x%" PRIx64,
			 map && map->path[0] ? base_name(map->path) : "memory", address);
	}
	write_words(w, words, link);
}

static void write_global(struct writing *w, uint64_t address, struct holder_link *link)
{
	struct field_variable found;

	link->kind = HOLDER_GLOBAL;
	if (!fields_global(w->names->fields, address, &found)) {
		write_mapping(w, address, link);
		return;
	}
	write_variable(w, &(struct anchor){
		.name = found.variable.name, .type = &found.type,
		.base = found.variable.address, .bytes = found.variable.bytes,
		.offset = address - found.variable.address,
	}, link);
}

static void write_stack(struct writing *w, uint64_t address, int32_t tid, struct holder_link *link)
{
	char words[DEBUG_NAME_BYTES + 64];
	struct local local;

	link->kind = HOLDER_STACK;
	link->tid = tid;
	if (!locals_at(w->names->locals, tid, address, &local))
		local = (struct local){ .address = 0 };
	link->function = copy(local.function);
	if (local.variable[0]) {
		snprintf(w->where, sizeof(w->where), "%s, thread %d", local.function, tid);
		write_variable(w, &(struct anchor){
			.name = local.variable, .type = &local.type, .base = local.address,
			.bytes = local.address ? fields_size(&local.type) : 0,
			.offset = local.address ? address - local.address : 0,
		}, link);
		return;
	}
	snprintf(words, sizeof(words), "(stack of thread %d%s%s)", tid,
		 local.function[0] ? ", in " : "", local.function);
	write_words(w, words, link);
}

static void write_thread_local(struct writing *w, const struct tls_block *block, uint64_t address,
			       struct holder_link *link)
{
	struct field_variable found;
	char words[DEBUG_NAME_BYTES];

	link->kind = HOLDER_TLS;
	link->tid = block->tid;
	if (fields_thread_local(w->names->fields, block->module, address - block->low, &found)) {
		snprintf(w->where, sizeof(w->where), "thread %d", block->tid);
		write_variable(w, &(struct anchor){
			.name = found.variable.name, .type = &found.type,
			.base = block->low + found.variable.address,
			.bytes = found.variable.bytes,
			.offset = address - block->low - found.variable.address,
		}, link);
		return;
	}
	snprintf(words, sizeof(words), "(thread-local %s+0x%" PRIx64 " of thread %d)",
		 base_name(block->module->path), address - block->low, block->tid);
	write_words(w, words, link);
}

static uint64_t thread_pointer(const struct holder_names *names, int32_t tid)
{
	const struct picture *picture = names->input->picture;

	for (size_t i = 0; i < picture->thread_count; i++)
		if (picture->thread[i].tid == tid)
			return picture->thread[i].registers.fs_base;
	return 0;
}

/* What libc keeps for a thread. */
static void write_thread_data(struct writing *w, uint64_t address, int32_t tid,
			      struct holder_link *link)
{
	char words[DEBUG_NAME_BYTES];

	link->kind = HOLDER_TLS;
	link->tid = tid;
	if (tid && address)
		snprintf(words, sizeof(words), "(data of thread %d%+" PRId64 ")", tid,
			 (int64_t)(address - thread_pointer(w->names, tid)));
	else
		snprintf(words, sizeof(words), "(data of thread %d)", tid);
	write_words(w, words, link);
}

static void write_place(struct writing *w, uint64_t address, struct holder_link *link)
{
	const struct tls_block *block = tls_map_find(w->names->tls, address);
	const struct root *root = roots_find(w->names->input->roots, address);

	if (block)
		write_thread_local(w, block, address, link);
	else if (root && root->class == ROOT_STACKS)
		write_stack(w, address, root->tid, link);
	else if (root && root->class == ROOT_TLS)
		write_thread_data(w, address, root->tid, link);
	else
		write_global(w, address, link);
}

const char *holder_register_name(uint32_t number)
{
	static const char *const names[] = {
		"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx",
		"rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base",
		"gs_base", "ds", "es", "fs", "gs",
	};

	return number < ARRAY_SIZE(names) ? names[number] :
	       number == ROOT_VECTOR ? "vector register" :
	       number == ROOT_IN_HAND ? "a call of malloc or free" : "register";
}

static void write_register(struct writing *w, const struct root_word *word,
			   struct holder_link *link)
{
	const char *name = holder_register_name(word->number);
	struct local local;

	link->kind = HOLDER_REGISTER;
	link->tid = word->tid;
	if (!locals_register(w->names->locals, word->tid, word->number, &local)) {
		snprintf(w->where, sizeof(w->where), "thread %d", word->tid);
		write_words(w, name, link);
		return;
	}
	link->function = copy(local.function);
	snprintf(w->where, sizeof(w->where), "%s in %s, thread %d", name, local.function,
		 word->tid);
	write_variable(w, &(struct anchor){ .name = local.variable, .type = &local.type }, link);
}

static void write_root(struct writing *w, const struct holder_step *step, struct holder_link *link)
{
	link->address = step->place;
	link->pointer = step->value;
	if (!step->word)
		write_place(w, step->place, link);
	else if (step->word->class == ROOT_REGISTERS)
		write_register(w, step->word, link);
	else
		write_thread_data(w, 0, step->word->tid, link);
}

enum holder_naming holder_names_rate(struct holder_names *names, const struct holder_step *step)
{
	const struct root *root = roots_find(names->input->roots, step->place);
	struct local local;

	if (step->word)
		return step->word->class == ROOT_REGISTERS &&
		       locals_register(names->locals, step->word->tid, step->word->number,
				       &local) ? HOLDER_NAMED : HOLDER_NAMELESS;
	if (!root || root->class != ROOT_STACKS)
		return HOLDER_NAMED;
	if (!locals_at(names->locals, root->tid, step->place, &local))
		return HOLDER_NAMELESS;
	return local.variable[0] ? HOLDER_NAMED : HOLDER_IN_FUNCTION;
}

/* ---- blocks ---- */

/* By its own class. */
static bool view_as_class(struct writing *w, const struct block *block, const char *class,
			  struct field_view *ret)
{
	*ret = (struct field_view){ .base = 0 };
	return class &&
	       fields_type_named(w->names->fields,
				 picture_word(w->names->input->picture, block->address), class,
				 &ret->type) &&
	       fields_size(&ret->type) <= block->bytes;
}

/* Goes on to the block that the last pointer leads to. */
static void enter_block(struct writing *w, const struct holder_step *step)
{
	struct field_view before = w->view;
	uint64_t base = step->value - step->held.address;

	w->has_view = w->path.fit == FIELD_POINTER &&
		      fields_follow(w->names->fields, &w->path, w->has_view ? &before : NULL, base,
				    &w->view);
}

/* Whether the pointer of step can be named in a block seen so; that becomes the block's view. */
static bool try_view(struct writing *w, const struct holder_step *step,
		     const struct field_view *view)
{
	struct field_path path;

	fields_walk_block(w->names->fields, view, step->holder.bytes,
			  step->place - step->holder.address, &path);
	if (path.fit < FIELD_WORD)
		return false;
	w->path = path;
	w->view = *view;
	w->has_view = true;
	return true;
}

/* The first of all ways to see the block that has a name for the pointer. */
static bool find_path(struct writing *w, const struct holder_step *step, const char *class)
{
	struct field_view declared = w->view, own;
	bool has_declared = w->has_view, has_own = view_as_class(w, &step->holder, class, &own);
	bool is_part = has_declared && (declared.array || declared.node);

	w->has_view = false;
	return (is_part && try_view(w, step, &declared)) || (has_own && try_view(w, step, &own)) ||
	       (has_declared && try_view(w, step, &declared));
}

static const char *class_of(const struct writing *w, const struct block *block)
{
	struct types *types = w->names->input->types;

	return types ? types_of(types, block->address, block->bytes) : NULL;
}

/* The pointer in a block; link NULL: only as text. */
static void write_block(struct writing *w, const struct holder_step *step, struct holder_link *link)
{
	uint64_t offset = step->place - step->holder.address;
	const char *class = class_of(w, &step->holder), *piece;

	w->path = (struct field_path){ .fit = FIELD_NONE };
	if (find_path(w, step, class))
		chain_text_path(&w->text, &w->path, &piece);
	else
		chain_text_offset(&w->text, class, (int64_t)offset, &piece);
	if (!link)
		return;
	link->kind = HOLDER_BLOCK;
	link->address = step->place;
	link->pointer = step->value;
	link->base = step->holder.address;
	link->bytes = step->holder.bytes;
	link->name = copy(class);
	link->field = copy(piece);
}

/* ---- chains ---- */

/* A thread-local block of a library is a heap block too: the chain begins there. */
static size_t first_step(const struct holder_names *names, const struct holder_step *step,
			 size_t count)
{
	for (size_t i = count; i-- > 1;)
		if (tls_map_find(names->tls, step[i].place))
			return i;
	return 0;
}

/* A chain that begins at a block that no root holds. */
static void begin_unheld(struct writing *w, const struct holder_step *step)
{
	const char *class = class_of(w, &step->holder);
	char label[TYPES_LABEL_BYTES], words[DEBUG_NAME_BYTES];

	snprintf(words, sizeof(words), "(%s at 0x%" PRIx64 ")",
		 class ? class : types_size_label(step->holder.bytes, label),
		 step->holder.address);
	chain_text_begin(&w->text, words);
	w->text.join = CHAIN_ARROW;
	w->has_view = false;
}

static struct holder_link *link_of(struct holder_chain *chain, size_t i, size_t count)
{
	if (i < HOLDERS_HEAD || count <= HOLDERS_HEAD + HOLDERS_TAIL)
		return &chain->link[i];
	if (i >= count - HOLDERS_TAIL)
		return &chain->link[HOLDERS_HEAD + i - (count - HOLDERS_TAIL)];
	return NULL;
}

static void write_all(struct writing *w, const struct holder_step *step, size_t count)
{
	size_t skip_to = count > MAX_DESCRIBED ? count - HOLDERS_TAIL : 0;

	for (size_t i = 0; i < count; i++) {
		struct holder_link *link = link_of(w->chain, i, count);

		if (i == MAX_DESCRIBED - HOLDERS_TAIL && i < skip_to) {
			chain_text_skip(&w->text, skip_to - i);
			w->has_view = w->has_view && step[skip_to].holder.bytes ==
						     step[i].holder.bytes;
			i = skip_to;
			link = link_of(w->chain, i, count);
		}
		if (i > 0 || w->chain->end != HOLDER_ROOTED)
			write_block(w, &step[i], link);
		else
			write_root(w, &step[i], link);
		enter_block(w, &step[i]);
	}
}

int holder_names_describe(struct holder_names *names, const struct holder_step *step, size_t count,
			  struct holder_chain *ret)
{
	size_t first = ret->end == HOLDER_ROOTED ? first_step(names, step, count) : 0;
	struct writing writing = { .names = names, .chain = ret };

	step += first;
	count -= first;
	ret->count = count < HOLDERS_HEAD + HOLDERS_TAIL ? count : HOLDERS_HEAD + HOLDERS_TAIL;
	ret->left_out = count - ret->count;
	ret->link = calloc(ret->count + 1, sizeof(*ret->link));
	if (!ret->link)
		return -ENOMEM;
	if (count > 0 && ret->end != HOLDER_ROOTED)
		begin_unheld(&writing, &step[0]);
	write_all(&writing, step, count);
	chain_text_end(&writing.text, writing.where[0] ? writing.where : NULL);
	ret->text = strdup(writing.text.text);
	return ret->text ? 0 : -ENOMEM;
}
