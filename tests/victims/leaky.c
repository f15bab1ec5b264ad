/* SPDX-License-Identifier: MIT */
/*
 * leaky.c - each shape of lost, possibly lost and reachable memory that C can make (leaky.h).
 *
 * Here: what blocks hold of each other, and roots of the first thread. leaky_heaps.c has
 * the allocator's special cases, leaky_threads.c threads and libraries. Sizes differ from label
 * to label: blocks that no site is known of are reported by size.
 */
#include "tests/victims/leaky.h"
#include "tests/victims/leaky_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Requested sizes that the allocator does not round up: the end is no part of the block. Here
 * glibc's; tests of other allocators say theirs.
 */
#ifndef EXACT
#define EXACT(n)	((n) * 16 + 8)
#endif

/* What holds blocks is not static: stores to what nobody reads would be left out. */
struct node {
	struct node *next, *other;
};

struct node *reached_chain;

VICTIM_FRAME static void build_chain(void)
{
	struct node *head = LEAKY(LEAKY_LOST, 24, malloc(24)), *kept = NULL;

	head->other = NULL;
	for (int i = 0; i < 9; i++) {
		head->next = LEAKY(LEAKY_BELOW, 40, malloc(40));
		head = head->next;
		memset(head, 0, 40);
	}
	for (int i = 0; i < 10; i++) {
		struct node *next = LEAKY(LEAKY_REACHED, 40, malloc(40));

		*next = (struct node){ kept, NULL };
		kept = next;
	}
	reached_chain = kept;
}

VICTIM_FRAME static struct node *make_tree(int depth)
{
	struct node *node;

	if (!depth)
		return NULL;
	node = LEAKY(LEAKY_BELOW, 56, malloc(56));
	*node = (struct node){ make_tree(depth - 1), make_tree(depth - 1) };
	return node;
}

VICTIM_FRAME static void build_tree(void)
{
	struct node *root = LEAKY(LEAKY_LOST, 72, malloc(72));

	*root = (struct node){ make_tree(4), make_tree(4) };
}

/* A ring of count blocks, with room for more pointers. */
VICTIM_FRAME static struct node *make_ring(unsigned int number, int count, size_t size)
{
	struct node *first = NULL, *last = NULL;

	for (int i = 0; i < count; i++) {
		struct node *node = LEAKY(LEAKY_CYCLE(number), size, calloc(1, size));

		if (last)
			last->next = node;
		else
			first = node;
		last = node;
	}
	last->next = first;
	return first;
}

VICTIM_FRAME static void build_cycle(void)
{
	struct node *itself = LEAKY(LEAKY_LOST, 120, calloc(1, 120));

	itself->next = itself;
	make_ring(1, 2, 88);
	make_ring(2, 7, 104);
}

/* The way in makes all of the ring indirect; the way out hangs below its leader. */
VICTIM_FRAME static void build_cycle_tails(void)
{
	struct node *in = LEAKY(LEAKY_LOST, 136, calloc(1, 136)), *ring[5] = { NULL }, *out;

	for (int i = 0; i < 5; i++)
		ring[i] = LEAKY(LEAKY_BELOW, 152, calloc(1, 152));
	for (int i = 0; i < 5; i++)
		ring[i]->next = ring[(i + 1) % 5];
	in->other = ring[3];
	out = make_ring(3, 3, 168);
	for (int i = 0; i < 4; i++) {
		out->other = LEAKY(LEAKY_BELOW, 184, calloc(1, 184));
		out = out->other;
	}
}

/* Two rings with a way from one to the other; two with a way both ways, one clique. */
VICTIM_FRAME static void build_cycles_joined(void)
{
	struct node *from = make_ring(4, 3, 200), *both, *to = NULL, *last;

	for (int i = 0; i < 4; i++) {
		struct node *node = LEAKY(LEAKY_BELOW, 216, calloc(1, 216));

		node->next = to;
		to = node;
	}
	for (last = to; last->next; last = last->next)
		;
	last->next = to;
	from->other = to;
	both = make_ring(5, 3, 232);
	last = make_ring(5, 2, 232);
	both->other = last;
	last->next->other = both->next;
}

/* Two lost owners of one child; a lost block that points at a reachable one. */
VICTIM_FRAME static void build_shared(void)
{
	struct node *a = LEAKY(LEAKY_LOST, 248, calloc(1, 248));
	struct node *b = LEAKY(LEAKY_LOST, 248, calloc(1, 248));
	struct node *left, *right;

	a->next = b->next = LEAKY(LEAKY_BELOW, 264, calloc(1, 264));
	a->other = reached_chain;
	left = LEAKY(LEAKY_BELOW, 264, calloc(1, 264));
	right = LEAKY(LEAKY_BELOW, 264, calloc(1, 264));
	b->other = left;
	a->next->next = right;
	left->next = right->next = LEAKY(LEAKY_BELOW, 264, calloc(1, 264));
}

void *middle, *tagged, *end_of, *start_of_empty;
struct { char skip[3]; void *pointer; } __attribute__((packed)) unaligned;
uintptr_t high_tagged, inverted;
void *volatile long_list;

VICTIM_FRAME static void build_interior(void)
{
	char *p = LEAKY(LEAKY_MAYBE, 280, calloc(1, 280));
	struct node *below = LEAKY(LEAKY_MAYBE, 296, calloc(1, 296)), *lost;

	memcpy(p + 16, &below, sizeof(below));
	below->next = LEAKY(LEAKY_MAYBE, 296, calloc(1, 296));
	middle = p + 48;
	tagged = (char *)LEAKY(LEAKY_MAYBE, 312, calloc(1, 312)) + 1;
	end_of = (char *)LEAKY(LEAKY_LOST, EXACT(20), calloc(1, EXACT(20))) + EXACT(20);
	start_of_empty = LEAKY(LEAKY_REACHED, 0, malloc(victim_size(0)));
	/* Held by the middle, by a block that is lost itself. */
	lost = LEAKY(LEAKY_LOST, 344, calloc(1, 344));
	lost->next = (struct node *)((char *)LEAKY(LEAKY_BELOW, 360, calloc(1, 360)) + 64);
}

/* A pointer after the last byte asked for, that still lies in the last byte given. */
VICTIM_FRAME static void build_rounded_end(void)
{
	struct leaky_expected expected = LEAKY_EXPECT(LEAKY_POSSIBLE, LEAKY_DEFINITE,
						      LEAKY_DEFINITE);

	end_of = (char *)LEAKY(expected, 1001, calloc(1, 1001)) + 1001;
}

VICTIM_FRAME static void build_hidden(void)
{
	unaligned.pointer = LEAKY(LEAKY_LOST, 376, malloc(376));
	high_tagged = (uintptr_t)LEAKY(LEAKY_LOST, 392, malloc(392)) | (uintptr_t)1 << 63;
	inverted = ~(uintptr_t)LEAKY(LEAKY_LOST, 408, malloc(408));
}

/* sqlite's and others': the length stands first, the user's pointer is 8 further. */
VICTIM_FRAME static void build_length64(void)
{
	struct leaky_expected expected = LEAKY_REACHED;
	uint64_t *block = LEAKY(expected, EXACT(26), malloc(EXACT(26)));

	memset(block, 0, EXACT(26));
	block[0] = EXACT(26) - 8;
	long_list = block + 1;
}

/* --- pools --------------------------------------------------------------------- */

struct node *mapped_pool;
char *bump, *pool_start;

/* A pool of the program's own in mapped memory: it is no heap, what it holds is reached. */
VICTIM_FRAME static void build_pool_mapped(void)
{
	/* LeakSanitizer knows no roots in mapped memory. */
	struct leaky_expected expected = LEAKY_EXPECT(LEAKY_REACHABLE, LEAKY_SAME, LEAKY_DEFINITE);
	struct node *pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pool == MAP_FAILED)
		victim_fail("mmap");
	for (int i = 0; i < 50; i++)
		pool[i * 1000].other = LEAKY(expected, 432, malloc(432));
	mapped_pool = pool;
}

struct node *sparse_pool;

/*
 * A terabyte is reserved and a few pages of it are used; one more was only read. What a page held
 * that was given back is lost. Neither checker can have as much memory.
 */
VICTIM_FRAME static void build_pool_sparse(void)
{
	const size_t bytes = (size_t)1 << 40, step = bytes / 64;
	char *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct node *above = NULL;

	if (pool == MAP_FAILED)
		victim_fail("mmap");
	for (size_t at = bytes - 4096; at > step; at -= step) {
		struct node *node = (struct node *)(pool + at + 64);

		node->next = above;
		node->other = LEAKY(LEAKY_REACHED, 1216, calloc(1, 1216));
		node->other->other = LEAKY(LEAKY_REACHED, 1232, calloc(1, 1232));
		above = node;
	}
	sparse_pool = above;
	*(struct node **)(pool + step / 2) = LEAKY(LEAKY_LOST, 1248, calloc(1, 1248));
	if (madvise(pool + step / 2, 4096, MADV_DONTNEED) || *(volatile char *)(pool + step / 3))
		victim_fail("madvise");
}

/* Pools in a block: one that its start leads to, one that only its bump pointer does. */
VICTIM_FRAME static void build_pool_block(void)
{
	struct node *pool = LEAKY(LEAKY_REACHED, 50000, calloc(1, 50000)), *other;

	pool_start = (char *)pool;
	for (int i = 0; i < 20; i++)
		pool[i * 100].next = LEAKY(LEAKY_REACHED, 448, malloc(448));
	other = LEAKY(LEAKY_MAYBE, 60000, calloc(1, 60000));
	for (int i = 0; i < 20; i++)
		other[i * 100].next = LEAKY(LEAKY_MAYBE, 464, malloc(464));
	bump = (char *)(other + 2000);
}

/* --- roots of the first thread -------------------------------------------------- */

__thread struct node *leaky_of_thread;
struct node *of_data = (struct node *)&of_data;
extern char **environ;

VICTIM_FRAME static void build_roots(void)
{
	leaky_of_thread = LEAKY(LEAKY_REACHED, 480, calloc(1, 480));
	leaky_of_thread->next = LEAKY(LEAKY_REACHED, 480, malloc(480));
	of_data = LEAKY(LEAKY_REACHED, 496, malloc(496));
	leaky_frame->slot[0] = LEAKY(LEAKY_REACHED, 512, calloc(1, 512));
	((struct node *)leaky_frame->slot[0])->other = LEAKY(LEAKY_REACHED, 512, malloc(512));
	leaky_frame->slot[1] = (char *)LEAKY(LEAKY_MAYBE, 528, malloc(528)) + 24;
}

/* The strings of the environment, and the list of them when it was made anew. */
VICTIM_FRAME static void build_environ(void)
{
	char *text = LEAKY(LEAKY_REACHED, 544, malloc(544));
	char **list = LEAKY(LEAKY_REACHED, 4096, calloc(512, sizeof(char *)));

	memcpy(text, "LEAKY=1", 8);
	for (int i = 0; i < 500 && environ[i]; i++)
		list[i + 1] = environ[i];
	list[0] = text;
	environ = list;
}

/* --- a coroutine ------------------------------------------------------------------ */

static ucontext_t coroutine, first_context;
static uintptr_t coroutine_hidden;

VICTIM_FRAME static void coroutine_body(void)
{
	void *volatile held = leaky_reveal(coroutine_hidden);

	victim_seen((void *)&held);
	swapcontext(&coroutine, &first_context);
	victim_seen((void *)&held);
}

/* Only the stack of a coroutine that sleeps holds the block; its stack is a block, too. */
VICTIM_FRAME static void build_coroutine(void)
{
	if (getcontext(&coroutine))
		victim_fail("getcontext");
	coroutine.uc_stack.ss_size = 70000;
	coroutine.uc_stack.ss_sp = LEAKY(LEAKY_REACHED, 70000, calloc(1, 70000));
	coroutine_hidden = leaky_hide(LEAKY(LEAKY_REACHED, 560, malloc(560)));
	makecontext(&coroutine, coroutine_body, 0);
	swapcontext(&first_context, &coroutine);
}

VICTIM_FRAME static void build_none(void)
{
}

static const struct leaky_kind kinds[] = {
	{ "none", build_none, 1 },
	{ "chain", build_chain, 0 },
	{ "tree", build_tree, 0 },
	{ "cycle", build_cycle, 0 },
	{ "cycle_tails", build_cycle_tails, 0 },
	{ "cycles_joined", build_cycles_joined, 0 },
	{ "shared", build_shared, 0 },
	{ "interior", build_interior, 0 },
	{ "rounded_end", build_rounded_end, 1 },
	{ "hidden", build_hidden, 0 },
	{ "length64", build_length64, 0 },
	{ "pool_mapped", build_pool_mapped, 0 },
	{ "pool_sparse", build_pool_sparse, 1 },
	{ "pool_block", build_pool_block, 0 },
	{ "roots", build_roots, 0 },
	{ "environ", build_environ, 0 },
	{ "coroutine", build_coroutine, 0 },
	{ NULL, NULL, 0 },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return leaky_main(argv, kinds, leaky_more_kinds);
}
