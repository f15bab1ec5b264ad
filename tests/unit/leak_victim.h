/* SPDX-License-Identifier: MIT */
/*
 * leak_victim.h - programs that a test compiles, starts, and takes a picture of.
 *
 * They print "name address bytes" for each of their blocks, then "ready", and wait; "range" is
 * a stretch in which a block of 24 bytes begins every 32. The program itself, held still, is the
 * picture: it does not run while it is looked at. What goes wrong ends the test with 99.
 */
#ifndef MEMATTACH_TESTS_LEAK_VICTIM_H
#define MEMATTACH_TESTS_LEAK_VICTIM_H

#include "src/leak/blocks/blocks.h"
#include "src/leak/roots/roots.h"
#include "src/memory/picture.h"
#include "src/modules/modules.h"

#define VICTIM_BLOCKS 4096

struct victim_block {
	char name[64];
	struct block block;
};
struct victim {
	pid_t pid;
	int output;
	struct picture picture;
	struct modules *modules;
	struct blocks *blocks;		/* those that it told of */
	struct roots roots;		/* all that is writable but blocks and libc's own data */
	struct ranges excluded;
	size_t count;
	struct victim_block block[VICTIM_BLOCKS];
};

/*
 * Compiles files of tests/victims (separated by spaces) into a program called name; its path is
 * valid until the next call. variable names the compiler in the environment. NULL: there is no
 * such compiler, or it can't.
 */
const char *victim_compile(const char *name, const char *variable, const char *fallback,
			   const char *flags, const char *files);
/* Removes everything that was compiled. */
void victim_clean(void);
void victim_start(struct victim *victim, const char *path);
void victim_end(struct victim *victim);
/* The address of the block that the victim called name; 0: none. */
uint64_t victim_address(const struct victim *victim, const char *name);
/* Waits until all threads of pid are in pause(), and stops them for good. Returns how many. */
size_t victim_stop(pid_t pid, struct picture_thread *thread, size_t room);
/* For struct module_source. */
int victim_open_file(void *context, const struct procmap *map);

#endif
