/* SPDX-License-Identifier: MIT */
/*
 * pools.c - a program with three allocators of its own over blocks of malloc's, and a wrapper:
 * for --alloc-fn, --realloc-fn and --free-fn.
 *
 * - linear: cuts blocks of any size, also of one byte, from one chunk; never gives any back.
 *   Its first block begins where the chunk does.
 * - pool: blocks of one size in chunks, its free ones in a list; the size is the second argument.
 * - stack: the last block that was pushed is the first to be popped; count and size are arguments,
 *   and there are more than six, some of them on the stack, which it checks.
 * - registers: changes no register but rax, not even the flags, as its caller knows.
 * - wrapper: returns what malloc and realloc return, and its blocks go to its own free.
 *
 * Command 'r': runs the sequence below, and prints what memattach has to find for each:
 * "truth NAME ALLOC_COUNT ALLOC_BYTES LIVE_COUNT LIVE_BYTES"; "ran ok". 'l' takes a block from the
 * pool, puts it back, and computes, again and again. 'q' ends.
 */
#include <alloca.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/victims/victim.h"

#define FRAME VICTIM_FRAME
enum { CHUNK = 1 << 20, POOL_BLOCK = 48, POOL_CHUNK = 100, LOOPS = 10000000 };

struct book {
	const char *name;
	uint64_t alloc_count, alloc_bytes, live_count, live_bytes;
};
static struct book linear_book = { "use_linear", 0, 0, 0, 0 };
static struct book pool_book = { "use_pool", 0, 0, 0, 0 };
static struct book stack_book = { "use_stack", 0, 0, 0, 0 };
static struct book registers_book = { "use_registers", 0, 0, 0, 0 };
static struct book wrapper_book = { "use_wrapper", 0, 0, 0, 0 };

static void came(struct book *book, size_t bytes)
{
	book->alloc_count++;
	book->alloc_bytes += bytes;
	book->live_count++;
	book->live_bytes += bytes;
}

static void went(struct book *book, size_t bytes)
{
	book->live_count--;
	book->live_bytes -= bytes;
}

struct linear {
	char *chunk;
	size_t used;
};

FRAME void *linear_take(struct linear *linear, size_t bytes)
{
	char *block = linear->chunk + linear->used;

	if (linear->used + bytes > CHUNK)
		return NULL;
	linear->used += bytes;
	return block;
}

struct pool {
	struct pool_block {
		struct pool_block *next;
	} *free;
	void *chunk[64];
	int chunks;
};

FRAME static void pool_grow(struct pool *pool)
{
	char *chunk = malloc(POOL_CHUNK * POOL_BLOCK);

	if (!chunk || pool->chunks == 64)
		victim_fail("out of memory");
	pool->chunk[pool->chunks++] = chunk;
	for (int i = POOL_CHUNK - 1; i >= 0; i--) {
		struct pool_block *block = (struct pool_block *)(chunk + i * POOL_BLOCK);

		block->next = pool->free;
		pool->free = block;
	}
}

FRAME void *pool_get(struct pool *pool, size_t bytes)
{
	struct pool_block *block;

	if (bytes > POOL_BLOCK)
		return NULL;
	if (!pool->free)
		pool_grow(pool);
	block = pool->free;
	pool->free = block->next;
	return block;
}

FRAME void pool_put(struct pool *pool, void *block)
{
	((struct pool_block *)block)->next = pool->free;
	pool->free = block;
}

struct stack {
	char *chunk, *top;
};

struct words {
	long word[8];
};
static const struct words many = { { 11, 12, 13, 14, 15, 16, 17, 18 } };

FRAME void *stack_push(int zero, size_t size, struct stack *stack, size_t count, long fifth,
		       long sixth, double vector, long seventh, struct words words, long last)
{
	char *block = stack->top;

	if (fifth != 5 || sixth != 6 || vector != 0.5 || seventh != 7 || last != 9 ||
	    memcmp(&words, &many, sizeof(words)))
		victim_fail("other arguments than were given");
	if (count * size > (size_t)(stack->chunk + CHUNK - stack->top))
		return NULL;
	stack->top += count * size;
	if (zero)
		memset(block, 0, count * size);
	return block;
}

FRAME void stack_pop(struct stack *stack, void *block)
{
	stack->top = block;
}

FRAME void *wrapper_alloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		victim_fail("out of memory");
	return block;
}

/* Calls one of its own kind, which is not to be counted twice. */
FRAME void *wrapper_resize(void *block, size_t bytes)
{
	void *other;

	if (!block)
		return wrapper_alloc(bytes);
	other = realloc(block, bytes);
	if (!other && bytes)
		return NULL;
	return other;
}

FRAME void wrapper_free(void *block)
{
	free(block);
}

/* registers_take(block, bytes): the block; registers_call(...): how many registers were changed */
void *registers_take(void *block, size_t bytes);
unsigned long registers_call(void *block, size_t bytes);
__asm__(".text\n"
	"	.globl registers_take\n	.type registers_take, @function\n"
	"	.balign 16\n"
	"registers_take:\n	.cfi_startproc\n"
	"	mov %rdi, %rax\n	nopl 0(%rax,%rax,1)\n	ret\n"
	"	.cfi_endproc\n	.size registers_take, . - registers_take\n"
	"	.type registers_call, @function\n"
	"registers_call:\n	.cfi_startproc\n"
	"	push %rbx\n	.cfi_def_cfa_offset 16\n	.cfi_offset rbx, -16\n"
	"	mov %rdi, %rbx\n"
	"	mov $0x2222, %edx\n	mov $0x3333, %ecx\n	mov $0x8888, %r8d\n"
	"	mov $0x9999, %r9d\n	mov $0xaaaa, %r10d\n	mov $0xbbbb, %r11d\n"
	"	cmp %rsp, %rsp\n	stc\n"
	"	call registers_take\n"
	"	jne 1f\n	jnc 1f\n"
	"	cmp %rbx, %rax\n	jne 1f\n	cmp %rbx, %rdi\n	jne 1f\n"
	"	cmp $16, %rsi\n	jne 1f\n	cmp $0x2222, %rdx\n	jne 1f\n"
	"	cmp $0x3333, %rcx\n	jne 1f\n	cmp $0x8888, %r8\n	jne 1f\n"
	"	cmp $0x9999, %r9\n	jne 1f\n	cmp $0xaaaa, %r10\n	jne 1f\n"
	"	cmp $0xbbbb, %r11\n	jne 1f\n"
	"	xor %eax, %eax\n	jmp 2f\n"
	"1:	mov $1, %eax\n"
	"2:	pop %rbx\n	.cfi_def_cfa_offset 8\n	ret\n"
	"	.cfi_endproc\n	.size registers_call, . - registers_call\n");

static struct linear linear;
static struct pool pool;
static struct stack stack;
static void *kept[4096];

FRAME static void use_linear(void)
{
	for (size_t i = 0; i < 500; i++) {
		size_t bytes = i % 3 ? 1 : 24;

		victim_seen(linear_take(&linear, bytes));
		came(&linear_book, bytes);
	}
	if (victim_seen(linear_take(&linear, victim_size(CHUNK))))	/* fails: no block */
		victim_fail("a linear allocator without an end");
}

FRAME static void use_pool(void)
{
	int left = 0;

	for (size_t i = 0; i < 1000; i++) {
		void *block = pool_get(&pool, 32);

		came(&pool_book, 32);
		if (i % 5) {
			pool_put(&pool, block);
			went(&pool_book, 32);
		} else {
			kept[left++] = block;
		}
	}
	for (int i = 0; i < left / 2; i++) {
		pool_put(&pool, kept[i]);
		went(&pool_book, 32);
	}
}

/* Arguments on the stack lie at the end of a page, and in the next one, for some shifts. */
FRAME static void use_stack_at(size_t shift)
{
	char *room = victim_seen(alloca(shift));
	void *block = stack_push(0, 16, &stack, 1, 5, 6, 0.5, 7, many, 9);

	came(&stack_book, 16);
	room[0] = 1;
	stack_pop(&stack, block);
	went(&stack_book, 16);
}

FRAME static void use_stack(void)
{
	void *block[40];

	for (size_t shift = 16; shift <= 8192; shift += 16)
		use_stack_at(shift);
	for (size_t i = 0; i < 40; i++) {
		block[i] = stack_push(i % 2, 16, &stack, i + 1, 5, 6, 0.5, 7, many, 9);
		came(&stack_book, 16 * (i + 1));
	}
	for (size_t i = 40; i-- > 10;) {
		stack_pop(&stack, block[i]);
		went(&stack_book, 16 * (i + 1));
	}
}

FRAME static void use_registers(void)
{
	static char block[100][16];

	for (int i = 0; i < 100; i++) {
		if (registers_call(block[i], 16))
			victim_fail("registers are not what they were");
		came(&registers_book, 16);
	}
}

FRAME static void use_wrapper(void)
{
	void *block = wrapper_alloc(victim_size(100));

	came(&wrapper_book, 100);
	for (size_t bytes = 200; bytes < 40000; bytes *= 2) {
		went(&wrapper_book, bytes / 2);
		block = victim_seen(wrapper_resize(block, bytes));
		came(&wrapper_book, bytes);
		kept[0] = block;
	}
	if (wrapper_resize(block, victim_size(SIZE_MAX / 4)))	/* it lives on */
		victim_fail("more memory than there is");
	victim_seen(wrapper_resize(NULL, 64));
	came(&wrapper_book, 64);
	wrapper_free(wrapper_alloc(victim_size(77)));
	came(&wrapper_book, 77);
	went(&wrapper_book, 77);
	wrapper_free(NULL);
}

static void run(void)
{
	static const struct book *const book[] = { &linear_book, &pool_book, &stack_book,
						   &registers_book, &wrapper_book };

	use_linear();
	use_pool();
	use_stack();
	use_registers();
	use_wrapper();
	for (int i = 0; i < 5; i++)
		victim_say("truth %s %lu %lu %lu %lu\n", book[i]->name, book[i]->alloc_count,
			   book[i]->alloc_bytes, book[i]->live_count, book[i]->live_bytes);
	victim_say("ran ok\n");
}

FRAME static void loop(void)
{
	for (int i = 0; i < LOOPS; i++) {
		pool_put(&pool, pool_get(&pool, 32));
		for (int work = 0; work < 300; work++)
			__asm__ volatile("");
	}
}

int main(void)
{
	char command;

	victim_setup();
	linear.chunk = malloc(CHUNK);
	stack.chunk = stack.top = malloc(CHUNK);
	if (!linear.chunk || !stack.chunk)
		victim_fail("out of memory");
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'r')
			run();
		else
			loop();
	}
	return 0;
}
