/* SPDX-License-Identifier: MIT */
/*
 * modules.h - what is mapped in the target, now and before.
 *
 * A module is one ELF object mapped at one place at a time. An id is never used for
 * another one; a closed module keeps its file open for its names, and is opened again, with
 * its id, when the same file is mapped again and was not changed since.
 */
#ifndef MEMATTACH_MODULES_H
#define MEMATTACH_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/base/cleanup.h"
#include "src/base/procmaps.h"

enum module_kind {
	MODULE_FILE = 0,	/* an ELF file */
	MODULE_VDSO,		/* the kernel's, read from memory */
	MODULE_JIT,		/* an executable mapping of a file that is no ELF file */
	MODULE_SHIM,		/* memattach's own code in the target */
};

/* What of a file's names may still be read: what killed a reader once is left alone (apart.h). */
enum module_distrust {
	MODULE_TRUSTED = 0,
	MODULE_NO_DWARF,	/* symbol tables only */
	MODULE_NO_NAMES,	/* nothing */
};
/* Shared with the children that read names. */
struct module_marks {
	uint32_t reading;	/* id of the module whose names were read last; 0: none */
	uint32_t distrust;	/* enum module_distrust: of all modules, also of later ones */
};

struct module_pages;
struct image_room;
/* A PT_LOAD of the ELF file, virtual addresses of the file. */
struct module_segment {
	uint64_t address, memory_bytes;
	uint64_t offset, file_bytes;	/* offset + file_bytes <= the module's file_bytes */
	uint32_t flags;			/* PF_R, PF_W, PF_X */
	uint32_t reserved;
};

struct module {
	uint32_t id;		/* from 1 */
	enum module_kind kind;
	char *path;		/* as in maps */
	char build_id[129];	/* hex, "" unknown */
	uint64_t low, high;	/* of its mappings */
	uint64_t bias;		/* address - bias = virtual address in the ELF file */
	bool closed;		/* no longer mapped */
	/*
	 * A private copy of the headers and of the bytes of every PT_LOAD at their
	 * file offsets, page-aligned; what lies between (sections that are not
	 * loaded) reads as 0: use fd. NULL when neither file nor memory could be had.
	 * Read it by module_bytes() or module_file(): with pages it is filled by those.
	 */
	const uint8_t *file;
	size_t file_bytes;
	struct module_pages *pages;	/* NULL: all of the copy is there */
	int fd;			/* the file, -1; hostile: read it with pread, never map it */
	const struct module_segment *segment;
	uint32_t segment_count;
	uint64_t eh_frame_hdr;	/* virtual address in the file of PT_GNU_EH_FRAME, 0: none */

	/* Identity, for modules.c. */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	struct timespec changed;	/* the file, last */
	bool from_memory;	/* file was put together from the target's memory */
	bool borrowed;		/* file belongs to someone else */
	bool seen;		/* by the modules_update that runs */

	enum module_distrust distrust;
	struct module_marks *marks;	/* of all modules */
	struct image_room *room;	/* for copies of their files */
	uint64_t copied;		/* bytes of it that file took */
};

/* Where modules come from: the keeper's services, or a test's. */
struct module_source {
	/* Opens the file mapped at [map->start, map->end): a descriptor or -errno. May be NULL. */
	int (*open_file)(void *context, const struct procmap *map);
	/* Reads target memory: 0 or -errno. May be NULL. */
	int (*read_memory)(void *context, uint64_t address, void *buffer, size_t bytes);
	void *context;
};

struct modules;
/* source is copied, its context borrowed. 0 or -ENOMEM. */
int modules_new(const struct module_source *source, struct modules **ret) _must_check_;
void modules_free(struct modules *modules);
/* How much memory copies of their files may take in this process, unless told otherwise 2 GiB. */
void modules_set_room(struct modules *modules, uint64_t bytes);
struct image_room *modules_room(struct modules *modules);
/*
 * Brings the table up to date with maps: new modules are opened, vanished ones
 * closed. A mapping of the same file (dev, inode, build id) at the same place is
 * the same module. A file that can't be opened, or is not the one that is mapped,
 * is replaced by what the target's memory holds. Returns 1 when anything changed,
 * 0, or -ENOMEM (the table then is as far as it came; call again).
 */
int modules_update(struct modules *modules, const struct procmaps *maps);
/*
 * The shim is an ELF image of memattach's own (bytes borrowed for ever) mapped at
 * base; base 0: no longer loaded. 0, -EBADMSG no usable image, -ENOMEM.
 */
int modules_set_shim(struct modules *modules, const void *image, size_t bytes, uint64_t base);
/*
 * A file that is mapped nowhere, as if its module were closed again: for frames of a recording.
 * path: where fd, which is taken, was found. debug_only: it has names, but not the code. 0 and the
 * module's id; -ENOEXEC, -EBADMSG no usable ELF file, -ENOMEM, -errno.
 */
int modules_add_file(struct modules *modules, const char *path, int fd, bool debug_only,
		     uint32_t *ret_id) _must_check_;
/* The open module that holds address, or NULL. Borrowed for the life of modules. */
const struct module *modules_find(const struct modules *modules, uint64_t address);
/* True when address was in anonymous executable memory at the last update. */
bool modules_is_jit(const struct modules *modules, uint64_t address);
/* The number-th range of that, from 0, in order. False: there are not so many. */
bool modules_jit_range(const struct modules *modules, uint32_t number, uint64_t *ret_low,
		       uint64_t *ret_high);
/* By id, closed ones too; NULL for 0 or unknown. */
const struct module *modules_get(const struct modules *modules, uint32_t id);
/*
 * After a child died: less is read of the module whose names were read last, or of all if that is
 * not known or was not enough. how ("crashed") is said on stderr. False: nothing was left to read.
 */
bool modules_blame(const struct modules *modules, const char *how);
/* Before anything in the module's file is looked at for names. What may be looked at. */
enum module_distrust module_read_names(const struct module *module);
/* Changes whenever modules_update changed something. */
uint64_t modules_generation(const struct modules *modules);
/* Ids run from 1 to this. */
uint32_t modules_count(const struct modules *modules);
/* How often a module was closed. One that is opened again, unchanged, has its old id. */
uint64_t modules_closings(const struct modules *modules);
/* How often one was opened. */
uint64_t modules_openings(const struct modules *modules);
/*
 * The bytes that the file has for [address, address + bytes), virtual addresses
 * of the file: NULL unless all of them lie in one PT_LOAD's file part. *ret_flags
 * (may be NULL) gets the PF_ flags of that segment.
 */
const uint8_t *module_bytes(const struct module *module, uint64_t address, size_t bytes,
			    uint32_t *ret_flags);
/* The same for [offset, offset + bytes) of the file; NULL unless the file has all of it. */
const uint8_t *module_file(const struct module *module, uint64_t offset, size_t bytes);

#endif
