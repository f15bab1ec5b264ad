/* SPDX-License-Identifier: MIT */
/*
 * own_allocator.c - a library with an allocator of its own, for tests of what can't be hooked.
 *
 * Its free has no room for a patch: it lies at an odd place and jumps to its own second
 * instruction. A preloaded program's blocks all come from here.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct head {
	size_t size;
	struct head *next;
};

static struct head *unused[48];
static char *at, *end;

static unsigned int class_of(size_t size)
{
	return 64u - (unsigned int)__builtin_clzll(size + sizeof(struct head) - 1);
}

void *malloc(size_t size)
{
	unsigned int class = class_of(size);
	size_t bytes = (size_t)1 << class;
	struct head *head = unused[class];

	if (head) {
		unused[class] = head->next;
		return head + 1;
	}
	if (!at || bytes > (size_t)(end - at)) {
		size_t room = bytes > 1 << 22 ? bytes : 1 << 22;

		at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + room;
	}
	head = (struct head *)at;
	at += bytes;
	head->size = bytes;
	return head + 1;
}

/* own_free(), behind an entry that no patch fits. */
__asm__(".globl free\n"
	".type free, @function\n"
	".balign 8\n"
	"	.skip 7, 0xc3\n"
	"free:\n"
	"	.cfi_startproc\n"
	"	test %rdi, %rdi\n"
	"1:	jz 2f\n"
	"	jmp own_free\n"
	"2:	ret\n"
	"	jmp 1b\n"
	"	.cfi_endproc\n"
	".size free, . - free\n");

__attribute__((used)) static void own_free(void *block)
{
	struct head *head = (struct head *)block - 1;
	unsigned int class = class_of(head->size - sizeof(struct head));

	head->next = unused[class];
	unused[class] = head;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return memset(block, 0, count * size);
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t had = old ? ((struct head *)old - 1)->size - sizeof(struct head) : 0;

	if (old)
		memcpy(block, old, had < size ? had : size);
	return block;
}
