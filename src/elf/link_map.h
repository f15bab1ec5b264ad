/* SPDX-License-Identifier: MIT */
/*
 * link_map.h - the dynamic loader's own list of modules, read from the target.
 *
 * Memory, auxiliary vector and names are the target's and hostile: counts are
 * capped, the list must be consistent both ways (so it can't be a cycle), and
 * every string is cut at LINK_MAP_NAME_BYTES.
 */
#ifndef MEMATTACH_LINK_MAP_H
#define MEMATTACH_LINK_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/procmaps.h"
#include "src/elf/elf_image.h"

#define LINK_MAP_MAX_MODULES	4096u
#define LINK_MAP_MAX_SPACES	16u
#define LINK_MAP_NAME_BYTES	256u

/* What of the auxiliary vector matters here; 0: not there. */
struct link_map_auxv {
	uint64_t phdr;		/* AT_PHDR: the executable's program headers */
	uint64_t base;		/* AT_BASE: the interpreter's ELF header */
	uint64_t entry;		/* AT_ENTRY */
};

/* One module as the dynamic loader lists it. */
struct link_map_module {
	uint64_t handle;	/* address of its struct link_map, dlopen's result; 0: none */
	uint64_t bias;		/* l_addr */
	uint64_t dynamic;	/* l_ld */
	uint32_t space;		/* 0: the program's own namespace; n: the n-th of dlmopen */
	char name[LINK_MAP_NAME_BYTES];	/* l_name as it stands; "" for the executable */
};

struct link_map_list {
	size_t count;			/* at least 1: the executable */
	struct link_map_module *module;	/* in load order, the program's namespace first */
	uint64_t exe_base;		/* of the ELF header the auxiliary vector leads to */
	uint64_t interpreter_base;	/* of ld.so's ELF header, 0: none known */
	uint64_t debug;			/* address of r_debug, 0: no dynamic loader */
	uint64_t notify;		/* r_brk: address of _dl_debug_state, 0 */
	int32_t state;			/* r_state: 0 RT_CONSISTENT, 1 RT_ADD, 2 RT_DELETE */
};

struct link_map_input {
	const struct elf_reader *reader;
	const struct procmaps *maps;
	struct link_map_auxv auxv;
	uint64_t exe_base;	/* used when it is not 0, else found by auxv */
};

/* Takes the bytes of /proc/PID/auxv apart. Unknown and missing entries stay 0. */
void link_map_parse_auxv(const void *bytes, size_t count, struct link_map_auxv *ret);

/*
 * Finds the executable's ELF header by AT_PHDR: the first page of the file that
 * is mapped there. 0, -ENOENT, -errno.
 */
int link_map_find_exe(const struct link_map_input *input, uint64_t *ret_base) _must_check_;

/*
 * Reads the whole list. A program without a dynamic loader (static, or not yet
 * started) yields the executable alone with handle 0. Free with link_map_done.
 * 0, -EAGAIN the list kept changing, -E2BIG more than LINK_MAP_MAX_MODULES,
 * -ENOENT no executable, -EBADMSG broken, -ENOMEM, -errno.
 */
int link_map_read(const struct link_map_input *input, struct link_map_list *ret) _must_check_;
/* Frees what link_map_read allocated; accepts a zeroed one. */
void link_map_done(struct link_map_list *list);
/* What a failure of link_map_read means, for people. */
const char *link_map_error(int error);

/* The first module of that exact name (as given to dlopen), or NULL. Borrowed. */
const struct link_map_module *link_map_find_name(const struct link_map_list *list,
						 const char *name);

/*
 * Address of the ELF header of module: the mapping of its file at offset 0 that
 * its dynamic section belongs to. 0 when maps do not know it.
 */
uint64_t link_map_module_base(const struct procmaps *maps, const struct link_map_module *module);

#endif
