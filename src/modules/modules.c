/* SPDX-License-Identifier: MIT */
/*
 * modules.c - the table of what is mapped, kept by comparing /proc/PID/maps.
 *
 * Only executable mappings make modules: code is what stacks point into, and
 * every ELF object with code has one such mapping from which, with the program
 * headers, its bias follows. A module stays the same while a mapping of the same
 * file lies where its bias says. While we hold the file open its inode number
 * can't be given to another file, so device and inode are enough; where there
 * is no descriptor, the first page in memory must still be the same.
 * A file that is mapped again, wherever, is the module that it was, if every byte is: a
 * server that loads and unloads a plugin all day has one module and one site of it, not
 * thousands, each with a copy of the file.
 * Anonymous executable memory makes no modules: JIT compilers remap it all the
 * time, and its names come by address; its ranges are only remembered.
 * The dynamic loader's link map was rejected as the source: it is the target's
 * to forge, and lacks the vdso and what was mapped by hand.
 */
#include "src/modules/modules.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/log.h"
#include "src/modules/debug_image.h"
#include "src/modules/module_image.h"
#include "src/modules/module_pages.h"

#define DEFAULT_ROOM	(2ull << 30)
#define MAX_MODULES	(1u << 20)
#define MAX_FILES	2048u	/* open at once; to have one costs as much as the maps are long */
#define MAX_SAME	64u	/* places of one file at once; namespaces make 16 */

struct range {
	uint64_t low, high;
};

struct modules {
	struct module_source source;
	struct module **module;		/* [id - 1] */
	uint32_t count, capacity;
	struct module **open;		/* sorted by low */
	uint32_t open_count;
	struct range *jit;		/* sorted */
	uint32_t jit_count;
	struct module *shim;		/* open, or NULL */
	struct module_marks *marks;	/* in shared memory */
	struct image_room room;
	uint64_t generation;
	uint64_t closings, openings;	/* how often one was closed, opened */
};

int modules_new(const struct module_source *source, struct modules **ret)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->marks = mmap(NULL, sizeof(*modules->marks), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (modules->marks == MAP_FAILED) {
		free(modules);
		return -ENOMEM;
	}
	modules->source = *source;
	modules->room.left = DEFAULT_ROOM;
	modules->generation = 1;
	*ret = modules;
	return 0;
}

void modules_set_room(struct modules *modules, uint64_t bytes)
{
	modules->room.left = bytes;
}

struct image_room *modules_room(struct modules *modules)
{
	return &modules->room;
}

static void module_free(struct module *module)
{
	module_image_done(module);
	free(module->path);
	free(module);
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	for (uint32_t i = 0; i < modules->count; i++)
		module_free(modules->module[i]);
	free(modules->module);
	free(modules->open);
	free(modules->jit);
	(void)munmap(modules->marks, sizeof(*modules->marks));
	free(modules);
}

/* Room in both tables, so that adding a module can't fail half-way. */
static int grow(struct modules *modules)
{
	uint32_t capacity = modules->capacity ? modules->capacity * 2 : 64;
	struct module **table;

	if (modules->count < modules->capacity)
		return 0;
	if (capacity > MAX_MODULES)
		return -ENOMEM;
	table = reallocarray(modules->module, capacity, sizeof(*table));
	if (!table)
		return -ENOMEM;
	modules->module = table;
	table = reallocarray(modules->open, capacity, sizeof(*table));
	if (!table)
		return -ENOMEM;
	modules->open = table;
	modules->capacity = capacity;
	return 0;
}

static struct module *module_new(struct modules *modules, enum module_kind kind, const char *path)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->kind = kind;
	module->room = &modules->room;
	module->fd = -1;
	module->seen = true;
	module->path = strdup(path);
	if (!module->path) {
		free(module);
		return NULL;
	}
	return module;
}

static void insert_open(struct modules *modules, struct module *module)
{
	uint32_t at = modules->open_count;

	while (at > 0 && modules->open[at - 1]->low > module->low) {
		modules->open[at] = modules->open[at - 1];
		at--;
	}
	modules->open[at] = module;
	modules->open_count++;
	modules->openings++;
}

static void modules_add(struct modules *modules, struct module *module)
{
	module->id = modules->count + 1;
	module->marks = modules->marks;
	modules->module[modules->count++] = module;
	insert_open(modules, module);
}

int modules_add_file(struct modules *modules, const char *path, int fd, bool debug_only,
		     uint32_t *ret_id)
{
	struct module *module = module_new(modules, MODULE_FILE, path);
	int err = module ? grow(modules) : -ENOMEM;

	if (err < 0)
		close(fd);
	else
		err = module_image_from_fd(module, fd);
	if (err < 0) {
		if (module)
			module_free(module);
		return err;
	}
	if (debug_only)
		module_image_forget_code(module);
	module->closed = true;
	module->marks = modules->marks;
	module->id = *ret_id = modules->count + 1;
	modules->module[modules->count++] = module;
	modules->generation++;
	return 0;
}

/* Index of the first open module that starts above address. */
static uint32_t upper_bound(const struct modules *modules, uint64_t address)
{
	uint32_t low = 0, high = modules->open_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (modules->open[middle]->low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct module *find_open(const struct modules *modules, uint64_t address)
{
	uint32_t at = upper_bound(modules, address);

	if (at == 0 || address >= modules->open[at - 1]->high)
		return NULL;
	return modules->open[at - 1];
}

static bool same_file(const struct module *module, const struct procmap *map)
{
	return module->inode == map->inode && module->dev_major == map->dev_major &&
	       module->dev_minor == map->dev_minor;
}

/* Whether map is (part of) what the open module is. */
static bool is_still(const struct modules *modules, const struct module *module,
		     const struct procmap *map)
{
	uint64_t bias;

	if (module->kind == MODULE_VDSO)
		return map->inode == 0 && strcmp(map->path, module->path) == 0;
	if (!same_file(module, map))
		return false;
	if (module->kind == MODULE_JIT || module->segment_count == 0)
		return map->start >= module->low && map->start < module->high;
	if (module_image_bias(module, map, &bias) < 0 || bias != module->bias)
		return false;
	return module->fd >= 0 || module_image_is_mapped(module, &modules->source);
}

/*
 * The open module that map belongs to. By address first; extents that a hostile
 * ELF header claims may hide it there, so then by looking at all.
 */
static struct module *find_same(const struct modules *modules, const struct procmap *map)
{
	struct module *module = find_open(modules, map->start);

	if (module && (module == modules->shim || is_still(modules, module, map)))
		return module;
	for (uint32_t i = 0; i < modules->open_count; i++) {
		if (is_still(modules, modules->open[i], map))
			return modules->open[i];
	}
	return NULL;
}

static void place(struct module *module, uint64_t bias)
{
	uint64_t low, high;

	module_image_extent(module, &low, &high);
	module->bias = bias;
	module->low = low + bias;
	module->high = high + bias;
}

/* The start of the lowest mapping in a row of the same file that ends with maps->map[index]. */
static const struct procmap *first_of_file(const struct procmaps *maps, size_t index)
{
	const struct procmap *map = &maps->map[index];

	while (index > 0) {
		const struct procmap *before = &maps->map[index - 1];

		if (before->inode != map->inode || before->dev_major != map->dev_major ||
		    before->dev_minor != map->dev_minor || before->offset > map->offset)
			break;
		map = before;
		index--;
	}
	return map;
}

/* From the file; -ESTALE when that is not what is mapped. */
static int load_file(const struct modules *modules, struct module *module,
		     const struct procmap *map)
{
	uint64_t bias;
	int fd, r;

	if (!modules->source.open_file)
		return -ENOENT;
	fd = modules->source.open_file(modules->source.context, map);
	if (fd < 0)
		return fd;
	r = module_image_from_fd(module, fd);
	if (r < 0 && r != -EFBIG)
		return r;
	r = module_image_bias(module, map, &bias);
	if (r < 0)
		return r;
	place(module, bias);
	return module_image_is_mapped(module, &modules->source) ? 0 : -ESTALE;
}

/* From memory, where the file can't be had or is another one. */
static int load_memory(const struct modules *modules, struct module *module,
		       const struct procmaps *maps, size_t index)
{
	const struct procmap *first = first_of_file(maps, index);
	uint64_t bias;
	int r;

	module_image_done(module);
	r = module_image_from_memory(module, &modules->source, first->start);
	if (r == 0)
		r = module_image_bias(module, &maps->map[index], &bias);
	if (r == 0)
		place(module, bias);
	return r;
}

/* Nothing of the file could be had: its place is all we know. */
static void place_blind(struct module *module, const struct procmaps *maps, size_t index)
{
	const struct procmap *first = first_of_file(maps, index);

	module_image_done(module);
	module->low = first->start;
	module->high = maps->map[index].end;
	module->bias = first->start - first->offset;
}

/* Whoever maps thousands of files, or one a thousand times, gets no names for the rest. */
static bool are_too_many(const struct modules *modules, const struct procmap *map)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < modules->open_count; i++)
		same += same_file(modules->open[i], map);
	return same >= MAX_SAME || modules->open_count >= MAX_FILES;
}

static int load(const struct modules *modules, struct module *module, const struct procmaps *maps,
		size_t index)
{
	const struct procmap *map = &maps->map[index];
	int r;

	if (module->kind == MODULE_FILE && are_too_many(modules, map)) {
		place_blind(module, maps, index);
		return 0;
	}
	if (module->kind == MODULE_VDSO) {
		r = module_image_from_mapping(module, &modules->source, map->start,
					      map->end - map->start);
		place(module, map->start);
	} else {
		r = load_file(modules, module, map);
		if (r < 0 && r != -ENOMEM)
			r = load_memory(modules, module, maps, index);
	}
	if (r == 0 && module->low < module->high)
		return 0;
	place_blind(module, maps, index);
	if (r == -ENOEXEC && module->kind == MODULE_FILE) {
		/* Executable, and no ELF file: code that someone writes as he runs. */
		module->kind = MODULE_JIT;
		module->low = map->start;
		module->bias = 0;
	}
	return r == -ENOMEM ? r : 0;
}

/* Files alone: what memory holds changes. */
static bool is_like(const struct module *closed, const struct module *module)
{
	return closed->closed && closed->kind == MODULE_FILE && closed->inode == module->inode &&
	       closed->dev_major == module->dev_major && closed->dev_minor == module->dev_minor &&
	       closed->fd >= 0 && !closed->from_memory && closed->file &&
	       closed->file_bytes == module->file_bytes &&
	       closed->changed.tv_sec == module->changed.tv_sec &&
	       closed->changed.tv_nsec == module->changed.tv_nsec &&
	       strcmp(closed->build_id, module->build_id) == 0 &&
	       strcmp(closed->path, module->path) == 0;
}

/* Was module, which is not in the table, there before? Then it is again: true. */
static bool reopen(struct modules *modules, const struct module *module)
{
	if (module->kind != MODULE_FILE || module->fd < 0 || module->from_memory || !module->file)
		return false;
	for (uint32_t i = modules->count; i > 0; i--) {
		struct module *closed = modules->module[i - 1];

		if (!is_like(closed, module))
			continue;
		closed->closed = false;
		closed->seen = true;
		place(closed, module->bias);
		insert_open(modules, closed);
		return true;
	}
	return false;
}

static int open_module(struct modules *modules, const struct procmaps *maps, size_t index,
		       enum module_kind kind)
{
	const struct procmap *map = &maps->map[index];
	struct module *module;
	int r = grow(modules);

	if (r < 0)
		return r;
	module = module_new(modules, kind, map->path);
	if (!module)
		return -ENOMEM;
	module->inode = map->inode;
	module->dev_major = map->dev_major;
	module->dev_minor = map->dev_minor;
	r = load(modules, module, maps, index);
	if (r < 0 || reopen(modules, module)) {
		module_free(module);
		return r < 0 ? r : 1;
	}
	modules_add(modules, module);
	return 1;
}

/* One executable mapping: 1 it made a new module, 0 nothing new, -errno. */
static int update_one(struct modules *modules, const struct procmaps *maps, size_t index)
{
	const struct procmap *map = &maps->map[index];
	if (find_same(modules, map))
		return 0;
	if (map->inode != 0)
		return open_module(modules, maps, index, MODULE_FILE);
	if (strcmp(map->path, "[vdso]") == 0)
		return open_module(modules, maps, index, MODULE_VDSO);
	return 0;
}

/* Closes what is in the way: an open module that was not seen hides one that took its place. */
static uint32_t close_unseen(struct modules *modules)
{
	uint32_t kept = 0, closed = 0;

	for (uint32_t i = 0; i < modules->open_count; i++) {
		struct module *module = modules->open[i];

		if (module->seen) {
			modules->open[kept++] = module;
			continue;
		}
		module->closed = true;
		closed++;
	}
	modules->open_count = kept;
	modules->closings += closed;
	return closed;
}

static bool is_anonymous_code(const struct procmap *map)
{
	return (map->prot & PROCMAP_X) && map->inode == 0 && map->path[0] != '[';
}

/* 1 when the ranges are others than before. */
static int update_jit(struct modules *modules, const struct procmaps *maps)
{
	struct range *jit;
	uint32_t count = 0;
	bool same;

	jit = calloc(maps->count ? maps->count : 1, sizeof(*jit));
	if (!jit)
		return -ENOMEM;
	for (size_t i = 0; i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];

		if (!is_anonymous_code(map))
			continue;
		if (count > 0 && jit[count - 1].high == map->start)
			jit[count - 1].high = map->end;
		else
			jit[count++] = (struct range){ map->start, map->end };
	}
	same = count == modules->jit_count &&
	       (count == 0 || memcmp(jit, modules->jit, count * sizeof(*jit)) == 0);
	free(modules->jit);
	modules->jit = jit;
	modules->jit_count = count;
	return !same;
}

/* Marks every open module that a mapping of maps proves to be there still. */
static void mark_seen(struct modules *modules, const struct procmaps *maps)
{
	for (uint32_t i = 0; i < modules->open_count; i++)
		modules->open[i]->seen = modules->open[i] == modules->shim;
	for (size_t i = 0; i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];
		struct module *module = map->prot & PROCMAP_X ? find_same(modules, map) : NULL;

		if (module)
			module->seen = true;
	}
}

static int update_all(struct modules *modules, const struct procmaps *maps)
{
	int changed = 0;

	for (size_t i = 0; i < maps->count; i++) {
		int r = maps->map[i].prot & PROCMAP_X ? update_one(modules, maps, i) : 0;

		if (r < 0)
			return r;
		changed |= r;
	}
	return changed;
}

int modules_update(struct modules *modules, const struct procmaps *maps)
{
	int changed, jit;

	mark_seen(modules, maps);
	changed = close_unseen(modules) > 0;
	if (changed)
		modules->generation++;
	jit = update_jit(modules, maps);
	if (jit < 0)
		return jit;
	if (jit > 0)
		modules->generation++;
	jit |= changed;
	changed = update_all(modules, maps);
	if (changed != 0)
		modules->generation++;
	return changed < 0 ? changed : changed | jit;
}

static void remove_open(struct modules *modules, struct module *module)
{
	module->seen = false;
	for (uint32_t i = 0; i < modules->open_count; i++) {
		if (modules->open[i] != module)
			modules->open[i]->seen = true;
	}
	close_unseen(modules);
}

int modules_set_shim(struct modules *modules, const void *image, size_t bytes, uint64_t base)
{
	struct module *module;
	int r;

	modules->generation++;
	if (modules->shim)
		remove_open(modules, modules->shim);
	modules->shim = NULL;
	if (base == 0)
		return 0;
	r = grow(modules);
	if (r < 0)
		return r;
	module = module_new(modules, MODULE_SHIM, "[memattach]");
	if (!module)
		return -ENOMEM;
	r = module_image_borrow(module, image, bytes);
	if (r == 0)
		place(module, base);
	if (r < 0 || module->low >= module->high) {
		module_free(module);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	modules_add(modules, module);
	modules->shim = module;
	return 0;
}

const struct module *modules_find(const struct modules *modules, uint64_t address)
{
	return find_open(modules, address);
}

bool modules_is_jit(const struct modules *modules, uint64_t address)
{
	uint32_t low = 0, high = modules->jit_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (modules->jit[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < modules->jit[low - 1].high;
}

bool modules_jit_range(const struct modules *modules, uint32_t number, uint64_t *ret_low,
		       uint64_t *ret_high)
{
	if (number >= modules->jit_count)
		return false;
	*ret_low = modules->jit[number].low;
	*ret_high = modules->jit[number].high;
	return true;
}

const struct module *modules_get(const struct modules *modules, uint32_t id)
{
	return id == 0 || id > modules->count ? NULL : modules->module[id - 1];
}

uint64_t modules_generation(const struct modules *modules)
{
	return modules->generation;
}

uint32_t modules_count(const struct modules *modules)
{
	return modules->count;
}

uint64_t modules_closings(const struct modules *modules)
{
	return modules->closings;
}

uint64_t modules_openings(const struct modules *modules)
{
	return modules->openings;
}

enum module_distrust module_read_names(const struct module *module)
{
	uint32_t all;

	if (!module->marks)
		return module->distrust;
	__atomic_store_n(&module->marks->reading, module->id, __ATOMIC_RELAXED);
	all = __atomic_load_n(&module->marks->distrust, __ATOMIC_RELAXED);
	return all > module->distrust ? all : module->distrust;
}

static bool blame_all(const struct modules *modules, const char *how)
{
	if (modules->marks->distrust == MODULE_NO_NAMES)
		return false;
	modules->marks->distrust++;
	log_warning("reading %s %s: none is used any more", modules->marks->distrust ==
		    MODULE_NO_DWARF ? "debug information" : "symbol tables", how);
	return true;
}

bool modules_blame(const struct modules *modules, const char *how)
{
	uint32_t id = __atomic_load_n(&modules->marks->reading, __ATOMIC_RELAXED);
	struct module *module = id == 0 || id > modules->count ? NULL : modules->module[id - 1];

	if (!module || module->distrust == MODULE_NO_NAMES)
		return blame_all(modules, how);
	module->distrust++;
	log_warning("the %s of %.200s is damaged (reading it %s): not used",
		    module->distrust == MODULE_NO_DWARF ? "debug information" : "symbol table",
		    module->path, how);
	return true;
}

const uint8_t *module_bytes(const struct module *module, uint64_t address, size_t bytes,
			    uint32_t *ret_flags)
{
	if (!module->file)
		return NULL;
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segment[i];
		uint64_t at = address - segment->address;

		if (address < segment->address || at > segment->file_bytes ||
		    bytes > segment->file_bytes - at)
			continue;
		if (ret_flags)
			*ret_flags = segment->flags;
		return module_file(module, segment->offset + at, bytes);
	}
	return NULL;
}

const uint8_t *module_file(const struct module *module, uint64_t offset, size_t bytes)
{
	if (!module->file || offset > module->file_bytes || bytes > module->file_bytes - offset)
		return NULL;
	if (module->pages)
		module_pages_have(module->pages, offset, bytes);
	return module->file + offset;
}
