/* SPDX-License-Identifier: MIT */
/*
 * types.c - the C++ class of a block by its vtable.
 *
 * The first word of an object of a class with virtual functions points to its vtable;
 * before that stand the typeinfo and the offset to the object's start (Itanium C++ ABI
 * 2.5.2). A typeinfo begins with a vtable pointer too, one of three of the C++ library's
 * own (2.9.5), which are known by *their* typeinfo's name: that also holds for static
 * programs and for libc++abi, and asks for no symbol. All of it must lie in modules.
 * Read from the picture and not from the files: position-independent code has its
 * vtables relocated, and copies of libraries' vtables lie in the program's .bss.
 * Refused: vtables with an offset to the top (a part of an object), names that
 * are not printable or don't demangle. A target can forge all of this
 * with effort; it then gets the name it forged.
 * Rejected: symbols (_ZTV...). Stripped programs have none, and where they are this agrees.
 */
#include "src/debuginfo/types.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/debuginfo/demangle.h"

#define MAX_NAME	1024u		/* mangled */
#define MAX_VTABLES	(1u << 19)	/* remembered, of which most may be none */
#define MAX_TEXT	(32u << 20)	/* of all names together */
#define EXACT_SIZES	512u

struct types {
	const struct picture *picture;
	const struct modules *modules;
	struct hashmap known;		/* vtable -> 0 none, or index in name + 1 */
	struct hashmap meta;		/* vtable of a typeinfo -> whether it is one of the three */
	char **name;
	size_t count, room, text_bytes;
};

int types_new(const struct picture *picture, const struct modules *modules, struct types **ret)
{
	struct types *types = calloc(1, sizeof(*types));

	if (!types)
		return -ENOMEM;
	types->picture = picture;
	types->modules = modules;
	*ret = types;
	return 0;
}

void types_free(struct types *types)
{
	if (!types)
		return;
	for (size_t i = 0; i < types->count; i++)
		free(types->name[i]);
	free(types->name);
	hashmap_done(&types->known);
	hashmap_done(&types->meta);
	free(types);
}

/* A place for words of the ABI's structures. */
static bool is_place(const struct types *types, uint64_t address)
{
	return address % 8 == 0 && address >= 4096 && modules_find(types->modules, address);
}

/* The typeinfo's mangled name as it stands after "_ZTS". */
static bool read_name(const struct types *types, uint64_t typeinfo, char ret[MAX_NAME])
{
	uint64_t address = picture_word(types->picture, typeinfo + 8);
	size_t got, length;

	if (!modules_find(types->modules, address))
		return false;
	got = picture_read_some(types->picture, address, ret, MAX_NAME);
	length = strnlen(ret, got);
	if (length == 0 || length == got)
		return false;
	for (size_t i = 0; i < length; i++)
		if (ret[i] <= ' ' || ret[i] > '~')
			return false;
	/* gcc marks types of internal linkage so. */
	if (ret[0] == '*')
		memmove(ret, ret + 1, length);
	return ret[0] != '\0';
}

/* Whether vtable is that of a class that describes classes. */
static bool read_meta(const struct types *types, uint64_t vtable)
{
	static const char *const kinds[] = {
		"N10__cxxabiv117__class_type_infoE",
		"N10__cxxabiv120__si_class_type_infoE",
		"N10__cxxabiv121__vmi_class_type_infoE",
	};
	uint64_t typeinfo = picture_word(types->picture, vtable - 8);
	char name[MAX_NAME];

	if (!is_place(types, typeinfo) || !read_name(types, typeinfo, name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(name, kinds[i]) == 0)
			return true;
	return false;
}

static bool is_meta(struct types *types, uint64_t vtable)
{
	uint64_t known;

	if (!is_place(types, vtable))
		return false;
	if (hashmap_get(&types->meta, vtable, &known))
		return known != 0;
	known = read_meta(types, vtable);
	if (hashmap_count(&types->meta) < MAX_VTABLES)
		(void)!hashmap_put(&types->meta, vtable, known);
	return known != 0;
}

/* The class's name as people write it, malloc'ed, or NULL. */
static char *show_name(const char *mangled)
{
	static const char prefix[] = "typeinfo for ";
	char whole[MAX_NAME + 8], *shown;

	snprintf(whole, sizeof(whole), "_ZTI%s", mangled);
	shown = demangle(whole);
	if (!shown || strncmp(shown, prefix, strlen(prefix)) != 0) {
		free(shown);
		return NULL;
	}
	memmove(shown, shown + strlen(prefix), strlen(shown) - strlen(prefix) + 1);
	return shown;
}

static char *read_class(struct types *types, uint64_t vtable)
{
	uint64_t head[2];	/* offset to top, typeinfo */
	char mangled[MAX_NAME];

	if (picture_read(types->picture, vtable - 16, head, sizeof(head)) < 0 || head[0] != 0 ||
	    !is_place(types, head[1]) ||
	    !is_meta(types, picture_word(types->picture, head[1])) ||
	    !read_name(types, head[1], mangled))
		return NULL;
	return show_name(mangled);
}

/* Takes name; its index + 1, or 0 when it can't be kept. */
static uint64_t keep_name(struct types *types, char *name)
{
	size_t bytes = strlen(name) + 1, room = types->room ? types->room * 2 : 64;
	char **grown;

	if (types->count == types->room) {
		grown = reallocarray(types->name, room, sizeof(*grown));
		if (grown) {
			types->name = grown;
			types->room = room;
		}
	}
	if (types->count == types->room || types->text_bytes + bytes > MAX_TEXT) {
		free(name);
		return 0;
	}
	types->text_bytes += bytes;
	types->name[types->count++] = name;
	return types->count;
}

const char *types_of_vtable(struct types *types, uint64_t first_word)
{
	uint64_t known;
	char *name;

	if (!is_place(types, first_word))
		return NULL;
	if (!hashmap_get(&types->known, first_word, &known)) {
		name = read_class(types, first_word);
		known = name ? keep_name(types, name) : 0;
		if (hashmap_count(&types->known) < MAX_VTABLES)
			(void)!hashmap_put(&types->known, first_word, known);
	}
	return known ? types->name[known - 1] : NULL;
}

const char *types_of(struct types *types, uint64_t address, uint64_t bytes)
{
	if (bytes < 8 || address % 8 != 0)
		return NULL;
	return types_of_vtable(types, picture_word(types->picture, address));
}

/* Above EXACT_SIZES: the quarter of a doubling that bytes lies in, as steps of that size. */
static uint64_t class_step(uint64_t bytes)
{
	return UINT64_C(1) << (63 - __builtin_clzll(bytes - 1) - 2);
}

uint64_t types_size_class(uint64_t bytes)
{
	uint64_t step;

	if (bytes <= EXACT_SIZES)
		return bytes;
	step = class_step(bytes);
	return bytes > UINT64_MAX - step ? UINT64_MAX : (bytes + step - 1) / step * step;
}

const char *types_size_label(uint64_t bytes, char text[TYPES_LABEL_BYTES])
{
	uint64_t high = types_size_class(bytes);

	if (bytes <= EXACT_SIZES)
		snprintf(text, TYPES_LABEL_BYTES, "block of %" PRIu64 " byte%s", bytes,
			 bytes == 1 ? "" : "s");
	else
		snprintf(text, TYPES_LABEL_BYTES, "block of %" PRIu64 " to %" PRIu64 " bytes",
			 high - class_step(bytes) + 1, high);
	return text;
}
