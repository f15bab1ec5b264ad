/* SPDX-License-Identifier: MIT */
/*
 * roots.h - where a program's pointers start: globals, stacks, registers, thread data.
 *
 * Left out: heaps (their blocks are reached, not given), the allocators' own structures
 * (main_arena.top points into the last chunk), what memattach mapped, what lies
 * below the stack pointers, and the stacks of ended threads that libc keeps for the next.
 */
#ifndef MEMATTACH_LEAK_ROOTS_H
#define MEMATTACH_LEAK_ROOTS_H

#include "src/base/ranges.h"
#include "src/leak/blocks/blocks.h"
#include "src/memory/picture.h"

enum root_class {
	ROOT_GLOBALS = 1,	/* writable data of modules, and other writable mappings */
	ROOT_STACKS = 2,
	ROOT_REGISTERS = 4,
	ROOT_TLS = 8,		/* thread control blocks, static and dynamic thread-local storage */
	ROOT_ALL = 15,
};
struct root {
	uint64_t low, high;	/* in the picture; 8-aligned, readable as far as maps tell */
	enum root_class class;
	int32_t tid;		/* of stacks and TLS of live threads, else 0 */
	bool shared;		/* in a shared mapping: see roots_collect */
};
#define ROOT_VECTOR	UINT32_MAX		/* a vector register: makes a block possibly lost */
#define ROOT_IN_HAND	(UINT32_MAX - 1)	/* what a thread inside malloc works on */
/*
 * A pointer that stands in no root range; counts like any word of a range of its class. ROOT_TLS:
 * the heap block with a thread's dtv, or its data; ROOT_STACKS: the heap block on which it runs (of
 * all the thread itself knows interior pointers only).
 */
struct root_word {
	uint64_t value;
	enum root_class class;
	int32_t tid;		/* 0: a thread that ended */
	/* Of registers: index in struct user_regs_struct, or one of the above. */
	uint32_t number;
};
struct roots {
	size_t count, word_count;
	struct root *root;	/* ascending, disjoint */
	struct root_word *word;
	uint64_t bytes;		/* of all root ranges */
	uint64_t shared_bytes;	/* of them, of those that are shared */
	size_t ended_threads;	/* whose stacks were found and left out */
};
struct roots_input {
	const struct picture *picture;
	const struct ranges *heap;	/* normalized: segments in which blocks lie */
	const struct ranges *excluded;	/* normalized: allocators' own data; memattach's own */
	/* Tells where a coroutine's stack ends that lies in a heap block; NULL: not known. */
	const struct blocks *blocks;
	unsigned int classes;		/* enum root_class */
};
/*
 * Holes of the picture are left out: a root that has some is in pieces.
 * A stack or thread data inside a heap segment is a root all the same (a stack from
 * malloc). Beware of shared roots: to read a hole of shared memory fills it with a page that stays
 * (seen in 6.18: 64 MiB of an empty memfd), and to read a file's brings it in from its disk.
 * 0, -ENOMEM, -errno.
 */
int roots_collect(const struct roots_input *input, struct roots *ret) _must_check_;
/* Frees; accepts a zeroed one. */
void roots_done(struct roots *roots);
/* "globals,stacks,registers,tls", or "all": 0 or -EINVAL. */
int roots_parse_classes(const char *text, unsigned int *ret_classes) _must_check_;
/* The root that holds address, NULL: none. */
const struct root *roots_find(const struct roots *roots, uint64_t address);

#endif
