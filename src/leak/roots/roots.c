/* SPDX-License-Identifier: MIT */
/*
 * roots.c - see roots.h.
 *
 * What threads claim goes first (roots_threads.c), in order of precedence, each piece to one
 * claim only. All other memory that the program could have written pointers to is global:
 * writable mappings, private or shared, as memcheck does; the read-only rest of a module's
 * writable segments (RELRO: LeakSanitizer scans it, memcheck does not: pointers put
 * there by constructors and by ld.so would make false leaks), and private anonymous memory that
 * is read-only now. Not: devices, the kernel's [vvar] and [vdso], memattach's own. Mappings
 * without read permission are left alone, though a debugger could read them: a program that
 * takes its own access away expects nobody to follow pointers there, and guard areas of
 * terabytes are made like that.
 */
#include "src/leak/roots/roots.h"

#include <errno.h>
#include <string.h>

#include "inject/abi/memfd_names.h"
#include "src/base/array.h"
#include "src/leak/roots/roots_threads.h"

struct collector {
	const struct roots_input *input;
	struct ranges taken;	/* by threads, so far */
	struct ranges without;	/* what is no global */
	struct roots roots;
	size_t root_room;
	/* Of the pieces that come now. */
	enum root_class class;
	int32_t tid;
	bool shared;
};

static int append_root(struct collector *c, uint64_t low, uint64_t high)
{
	size_t room = c->root_room ? c->root_room * 2 : 256;
	struct root *grown;

	if (c->roots.count == c->root_room) {
		grown = reallocarray(c->roots.root, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->roots.root = grown;
		c->root_room = room;
	}
	c->roots.root[c->roots.count++] = (struct root){ low, high, c->class, c->tid, c->shared };
	c->roots.bytes += high - low;
	if (c->shared)
		c->roots.shared_bytes += high - low;
	return 0;
}

/* ranges_outside's callback: of a root, what is no hole. */
static int take_filled(void *context, uint64_t low, uint64_t high)
{
	low = (low + 7) & ~7ull;
	high &= ~7ull;
	return low < high ? append_root(context, low, high) : 0;
}

/* ranges_outside's callback: a piece that is a root, if its class is wanted. */
static int take_piece(void *context, uint64_t low, uint64_t high)
{
	struct collector *c = context;

	if (!(c->input->classes & c->class))
		return 0;
	return ranges_outside(&c->input->picture->holes, low, high, take_filled, c);
}

static int merge_ranges(struct ranges *into, const struct ranges *from)
{
	int error = 0;

	for (size_t i = 0; !error && from && i < from->count; i++)
		error = ranges_add(into, from->range[i].low, from->range[i].high);
	return error;
}

/* --- which mappings count ---------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_device(const char *path)
{
	return (starts_with(path, "/dev/") && strcmp(path, "/dev/zero") != 0 &&
		!starts_with(path, "/dev/shm/") && !starts_with(path, "/dev/hugepages/")) ||
	       starts_with(path, "/dmabuf:") || strcmp(path, "anon_inode:[perf_event]") == 0;
}

/* Names in brackets: the kernel's own, but for these. */
static bool is_kernels(const char *path)
{
	return path[0] == '[' && strcmp(path, "[heap]") != 0 && !starts_with(path, "[stack") &&
	       !starts_with(path, "[anon");
}

static bool is_readable(const struct procmap *map)
{
	return (map->prot & PROCMAP_R) && !is_kernels(map->path) && !is_device(map->path) &&
	       !memfd_path_is_ours(map->path);
}

/* Wholly global, but for what else claims parts of it? */
static bool is_global(const struct procmap *map)
{
	if (!is_readable(map))
		return false;
	return (map->prot & PROCMAP_W) || (map->inode == 0 && !(map->prot & PROCMAP_SHARED));
}

/* The first mapping that ends above address; claims may begin in unmapped memory. */
static const struct procmap *first_above(const struct procmaps *maps, uint64_t address)
{
	size_t low = ARRAY_BISECT(maps->count, i, maps->map[i].end <= address);

	return maps->map + low;
}

/* [low, high) of a module was writable once: what of it is still readable. */
static int add_written_once(const struct procmaps *maps, uint64_t low, uint64_t high,
			    struct ranges *ret)
{
	const struct procmap *map = first_above(maps, low);
	int error = 0;

	for (; !error && map < maps->map + maps->count && map->start < high; map++) {
		uint64_t first = map->start > low ? map->start : low;
		uint64_t end = map->end < high ? map->end : high;

		if (is_readable(map) && !(map->prot & PROCMAP_SHARED) && first < end)
			error = ranges_add(ret, first, end);
	}
	return error;
}

/* The writable segments of the ELF image whose header map begins with, if it does. */
static int add_segments(const struct picture *picture, const struct procmap *map,
			struct ranges *ret)
{
	struct elf_image image;
	int error = 0;

	if (map->offset != 0 || map->inode == 0 || !is_readable(map) ||
	    elf_image_open(&picture->reader, map->start, &image) != 0)
		return 0;
	for (unsigned int i = 0; !error && i < image.phdr_count; i++) {
		const Elf64_Phdr *phdr = &image.phdr[i];
		uint64_t low = image.bias + phdr->p_vaddr, high = low + phdr->p_memsz;

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_W) && low < high &&
		    low >= image.low && high <= image.high)
			error = add_written_once(&picture->maps, low, high, ret);
	}
	return error;
}

/* Everything that is global in private, or in shared mappings. */
static int find_globals(const struct picture *picture, bool shared, struct ranges *ret)
{
	int error = 0;

	for (size_t i = 0; !error && i < picture->maps.count; i++) {
		const struct procmap *map = &picture->maps.map[i];

		if (!(map->prot & PROCMAP_SHARED) == shared)
			continue;
		if (is_global(map))
			error = ranges_add(ret, map->start, map->end);
		else if (!shared)
			error = add_segments(picture, map, ret);
	}
	ranges_normalize(ret);
	return error;
}

static int add_globals(struct collector *c, bool shared)
{
	_cleanup_(ranges_done) struct ranges globals = { 0 };
	int error = find_globals(c->input->picture, shared, &globals);

	c->class = ROOT_GLOBALS;
	c->tid = 0;
	c->shared = shared;
	for (size_t i = 0; !error && i < globals.count; i++)
		error = ranges_outside(&c->without, globals.range[i].low, globals.range[i].high,
				       take_piece, c);
	return error;
}

static int add_all_globals(struct collector *c)
{
	int error = merge_ranges(&c->without, &c->taken) ?:
		    merge_ranges(&c->without, c->input->heap) ?:
		    merge_ranges(&c->without, c->input->excluded);

	ranges_normalize(&c->without);
	return error ?: add_globals(c, false) ?: add_globals(c, true);
}

/* --- what threads claim ------------------------------------------------------ */

/* ranges_outside's callback: a piece of a claim that is nobody else's. */
static int take_claimed(void *context, uint64_t low, uint64_t high)
{
	static const struct ranges none;
	struct collector *c = context;
	const struct procmaps *maps = &c->input->picture->maps;
	const struct ranges *excluded = c->input->excluded ? c->input->excluded : &none;
	const struct procmap *map = first_above(maps, low);
	int error = 0;

	for (; !error && map < maps->map + maps->count && map->start < high; map++) {
		uint64_t from = map->start > low ? map->start : low;
		uint64_t to = map->end < high ? map->end : high;

		if (is_readable(map) && from < to)
			error = ranges_outside(excluded, from, to, take_piece, c);
	}
	return error;
}

/* claims: of one kind, by address. */
static int take_claims(struct collector *c, const struct claim *claim, size_t count)
{
	uint64_t end = 0;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		uint64_t low = claim[i].low > end ? claim[i].low : end;

		if (low >= claim[i].high)
			continue;
		end = claim[i].high;
		c->class = claim[i].kind == CLAIM_DATA ? ROOT_TLS : ROOT_STACKS;
		c->tid = claim[i].tid;
		if (claim[i].kind != CLAIM_DEAD)
			error = ranges_outside(&c->taken, low, end, take_claimed, c);
	}
	for (size_t i = 0; !error && i < count; i++)
		error = ranges_add(&c->taken, claim[i].low, claim[i].high);
	ranges_normalize(&c->taken);
	return error;
}

static int take_all_claims(struct collector *c, const struct claims *claims)
{
	size_t first = 0;
	int error = 0;

	while (!error && first < claims->count) {
		size_t end = first;

		while (end < claims->count && claims->claim[end].kind == claims->claim[first].kind)
			end++;
		error = take_claims(c, &claims->claim[first], end - first);
		first = end;
	}
	return error;
}

/* --- words ------------------------------------------------------------------- */

/* struct user_regs_struct from r15 to rip, and rsp: what can hold a pointer. */
static bool holds_pointers(size_t number)
{
	return number <= offsetof(struct user_regs_struct, rip) / 8 ||
	       number == offsetof(struct user_regs_struct, rsp) / 8;
}

static void add_registers(struct roots *roots, const struct picture_thread *thread)
{
	const unsigned long long *value = (const unsigned long long *)&thread->registers;

	for (size_t i = 0; i < sizeof(thread->registers) / 8; i++) {
		if (holds_pointers(i))
			roots->word[roots->word_count++] = (struct root_word){
				.value = value[i], .class = ROOT_REGISTERS, .tid = thread->tid,
				.number = (uint32_t)i };
	}
}

static void add_vectors(struct roots *roots, const struct picture *picture)
{
	for (size_t i = 0; i < picture->vector_count; i++)
		roots->word[roots->word_count++] = (struct root_word){
			.value = picture->vector[i].value, .class = ROOT_REGISTERS,
			.tid = picture->vector[i].tid, .number = ROOT_VECTOR };
}

static int add_words(struct collector *c, const struct claims *claims)
{
	const struct picture *picture = c->input->picture;
	size_t each = sizeof(struct user_regs_struct) / 8;
	size_t room = picture->thread_count * each + picture->vector_count + claims->word_count;

	c->roots.word = calloc(room + 1, sizeof(*c->roots.word));
	if (!c->roots.word)
		return -ENOMEM;
	for (size_t i = 0; i < picture->thread_count && (c->input->classes & ROOT_REGISTERS); i++)
		add_registers(&c->roots, &picture->thread[i]);
	if (c->input->classes & ROOT_REGISTERS)
		add_vectors(&c->roots, picture);
	for (size_t i = 0; i < claims->word_count; i++) {
		if (c->input->classes & claims->word[i].class)
			c->roots.word[c->roots.word_count++] = claims->word[i];
	}
	return 0;
}

/* --- all --------------------------------------------------------------------- */

static int by_low(const void *a, const void *b)
{
	const struct root *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static int collect(struct collector *c, const struct claims *claims)
{
	int error = take_all_claims(c, claims) ?: add_all_globals(c) ?: add_words(c, claims);

	if (error)
		return error;
	if (c->roots.count)
		qsort(c->roots.root, c->roots.count, sizeof(*c->roots.root), by_low);
	c->roots.ended_threads = claims->ended_threads;
	return 0;
}

int roots_collect(const struct roots_input *input, struct roots *ret)
{
	_cleanup_(claims_done) struct claims claims = { 0 };
	struct collector c = { .input = input };
	int error = claims_collect(input, &claims) ?: collect(&c, &claims);

	ranges_done(&c.taken);
	ranges_done(&c.without);
	if (error) {
		roots_done(&c.roots);
		return error;
	}
	*ret = c.roots;
	return 0;
}

void roots_done(struct roots *roots)
{
	free(roots->root);
	free(roots->word);
	*roots = (struct roots){ 0 };
}

static unsigned int class_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		unsigned int class;
	} classes[] = { { "globals", ROOT_GLOBALS }, { "stacks", ROOT_STACKS },
			{ "registers", ROOT_REGISTERS }, { "tls", ROOT_TLS }, { "all", ROOT_ALL } };

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strlen(classes[i].name) == length &&
		    strncmp(classes[i].name, name, length) == 0)
			return classes[i].class;
	}
	return 0;
}

int roots_parse_classes(const char *text, unsigned int *ret_classes)
{
	unsigned int classes = 0;

	for (;;) {
		size_t length = strcspn(text, ",");
		unsigned int class = class_of(text, length);

		if (!class)
			return -EINVAL;
		classes |= class;
		if (!text[length])
			break;
		text += length + 1;
	}
	*ret_classes = classes;
	return 0;
}

const struct root *roots_find(const struct roots *roots, uint64_t address)
{
	size_t low = 0, high = roots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct root *root = &roots->root[middle];

		if (address >= root->low && address < root->high)
			return root;
		if (address < root->low)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
