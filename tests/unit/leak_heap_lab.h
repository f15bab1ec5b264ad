/* SPDX-License-Identifier: MIT */
/*
 * leak_heap_lab.h - a modelled process, in whose picture a heap walker may look.
 *
 * What the models of all allocators have in common; leak_<allocator>_model.h says what is in
 * the memory. A model's struct begins with its struct lab, so that a pointer to one is a pointer
 * to the other. Neither these nor the models need cmocka: the fuzzers use them, too.
 */
#ifndef MEMATTACH_TESTS_LEAK_HEAP_LAB_H
#define MEMATTACH_TESTS_LEAK_HEAP_LAB_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/heap.h"

#define LAB_LIVE 1024

/* Where an array of the model's struct lies in the modelled process. */
struct lab_area {
	uint64_t address;
	size_t bytes, offset;	/* offset in the model's struct */
};

struct lab {
	int memory;			/* owned, 0: none yet; see lab_done */
	const struct lab_area *area;
	size_t area_count;
	uint64_t end;			/* below it, what is in no area reads as zeros; 0: not */
	const char *maps;		/* of the process, as in /proc */
	struct user_regs_struct registers;	/* of its one thread */
	size_t live_count, free_count;	/* the truth: what a walk is to find */
	struct block live[LAB_LIVE];
	struct picture picture;		/* between lab_open and lab_close */
	struct modules *modules;	/* the same */
};

/* The begin of a model that is built (again): the memory of the lab before, and these areas. */
#define LAB_AGAIN(before, areas)                                              \
	.memory = (before).memory, .area = (areas), .area_count = ARRAY_SIZE(areas)

/* The byte at address; NULL where bytes from there on are in no area. */
uint8_t *lab_byte(struct lab *lab, uint64_t address, size_t bytes);
/* pre, of all three: address lies in an area. */
void lab_put(struct lab *lab, uint64_t address, uint64_t word);
uint64_t lab_get(struct lab *lab, uint64_t address);
/* The low bytes of value, up to 8. */
void lab_put_some(struct lab *lab, uint64_t address, uint64_t value, size_t bytes);
/* One more block that is live. */
void lab_expect(struct lab *lab, uint64_t address, uint64_t bytes);

/* A library's ELF header at to, and its program headers behind it. */
void lab_put_elf(uint8_t *to, const Elf64_Phdr *phdr, size_t count);
/* The same, of one with two pages of code and six of data. */
void lab_put_library(uint8_t *to);

/* Makes picture and modules of the areas as they are now. 0 or -errno. */
int lab_open(struct lab *lab) _must_check_;
/* Their end; the model may be changed, built and opened again. */
void lab_close(struct lab *lab);
/* Closes the memory. */
void lab_done(struct lab *lab);

/* For a module_source: the memory of the struct picture in context; a mapping's file. */
int lab_read_memory(void *context, uint64_t address, void *buffer, size_t bytes);
int lab_open_file(void *context, const struct procmap *map);

#define LAB_RANDOM 88172645463325252u
/* The next of a row of numbers, each time the same one; *random begins as LAB_RANDOM. */
uint64_t lab_draw(uint64_t *random);

#endif
