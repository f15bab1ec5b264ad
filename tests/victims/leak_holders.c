/* SPDX-License-Identifier: MIT */
/*
 * leak_holders.c - blocks held in every way that C knows, each by one name.
 *
 * Prints "name address bytes" for each block and then "ready"; test_leak_holders.c knows
 * who holds which.
 */
#include <pthread.h>

#include "leak_holders.h"

struct node {
	struct node *next;
	void *data;
	long number;
};
struct cache {
	size_t count;
	struct node **buckets;
	struct {
		char *name;
		struct {
			struct node *first, *last;
		} list;
	} user;
	union {
		double ratio;
		struct node *other;
		char text[16];
	} choice;
	struct node *grid[4][3];
	union {		/* no name */
		char *plain;
		long code;
	};
};
struct flexible {
	int count;
	struct node *item[];
};
struct old_flexible {
	int count;
	struct node *item[1];
};
struct aligned_flexible {	/* its array begins before its end */
	int count;
	struct node *item[];
} __attribute__((aligned(32)));
struct doubly {
	struct doubly *next, *prev;
};
struct outer {
	long before[3];
	struct doubly link;
	char *payload;
};
struct tree {
	struct tree *left, *right, *parent;
};

struct cache *g_cache;
static struct cache s_cache;
struct node *g_table[8];
struct node *g_list;
struct node g_array_of_structs[3];
void *g_opaque;
long g_number;
struct flexible *g_flexible;
struct old_flexible *g_old_flexible;
struct aligned_flexible *g_aligned;
struct secret *g_secret;
struct node *g_records;
struct outer *g_outer;
struct doubly *g_inside;
struct tree *g_tree;
struct node *const *g_const_table;
typedef struct node *node_pointer;
typedef node_pointer node_array[4];
node_array g_typedefs;
__thread struct node *t_head;
__thread struct cache t_cache;

static struct node *node(const char *name, struct node *next)
{
	struct node *new = make(name, sizeof(*new));

	new->next = next;
	return new;
}

static void fill_cache(struct cache *cache, const char *prefix)
{
	static char name[10][64];
	static int used;
	char (*n)[64] = name + used;

	used += 5;
	snprintf(n[0], 64, "%s_name", prefix);
	snprintf(n[1], 64, "%s_last", prefix);
	snprintf(n[2], 64, "%s_other", prefix);
	snprintf(n[3], 64, "%s_grid", prefix);
	snprintf(n[4], 64, "%s_plain", prefix);
	cache->user.name = make(n[0], 100);
	cache->user.list.last = node(n[1], NULL);
	cache->choice.other = node(n[2], NULL);
	cache->grid[2][1] = node(n[3], NULL);
	cache->plain = make(n[4], 50);
}

static void fill_globals(void)
{
	g_cache = make("cache", sizeof(*g_cache));
	g_cache->buckets = make("buckets", 32 * sizeof(struct node *));
	g_cache->buckets[17] = node("bucket_first", node("bucket_next", NULL));
	g_cache->buckets[17]->next->data = make("bucket_data", 60);
	fill_cache(g_cache, "heap");
	fill_cache(&s_cache, "static");
	g_table[5] = node("table", NULL);
	for (int i = 0; i < 1000; i++)
		g_list = node(i == 0 ? "list_tail" : "list", g_list);
	g_array_of_structs[2].data = make("array_of_structs", 40);
	g_opaque = make("opaque", 64);
	((void **)g_opaque)[3] = make("opaque_held", 64);
	g_number = (long)make("number", 70);
	g_flexible = make("flexible", sizeof(*g_flexible) + 6 * sizeof(struct node *));
	g_flexible->item[4] = node("flexible_item", NULL);
	g_old_flexible = make("old_flexible", sizeof(*g_old_flexible) + 6 * sizeof(struct node *));
	g_old_flexible->item[5] = node("old_flexible_item", NULL);
	g_aligned = make("aligned_flexible", 128);
	g_aligned->item[1] = node("aligned_inside", NULL);
	g_aligned->item[9] = node("aligned_outside", NULL);
	g_secret = secret_new();
	g_records = make("records", 10 * sizeof(struct node));
	g_records[6].next = node("record", NULL);
	g_typedefs[3] = node("typedefs", NULL);
}

static void fill_shapes(void)
{
	struct tree *child;
	struct node **table;

	g_outer = make("outer", sizeof(*g_outer));
	g_outer->payload = make("payload", 33);
	g_inside = &((struct outer *)make("around", sizeof(struct outer)))->link;
	g_inside->next = &((struct outer *)make("around_next", sizeof(struct outer)))->link;
	g_inside->next->prev = g_inside;
	g_tree = make("tree", sizeof(*g_tree));
	g_tree->right = child = make("tree_child", sizeof(*child));
	child->parent = g_tree;
	child->left = make("tree_leaf", sizeof(*child));
	child->left->parent = child;
	table = make("const_table", 4 * sizeof(*table));
	table[2] = node("const_held", NULL);
	g_const_table = table;
}

/* Blocks that nothing reachable holds. */
static void __attribute__((noinline)) lose(void)
{
	struct node *top = node("lost_top", node("lost_below", NULL));
	struct node *a = node("cycle_a", NULL), *b = node("cycle_b", a);

	a->next = b;
	__asm__ volatile("" : : "r"(top), "r"(b) : "memory");
}

static struct node **keep_static(void)
{
	static struct node *kept;

	kept = node("static_local", NULL);
	return &kept;
}

static void *run_thread(void *argument)
{
	struct node *mine = node("thread_local_variable", NULL);
	struct cache here;
	pthread_barrier_t *barrier = argument;

	memset(&here, 0, sizeof(here));
	t_head = node("tls_of_thread", mine ? NULL : mine);
	here.grid[1][2] = node("thread_stack", NULL);
	pthread_barrier_wait(barrier);
	for (;;)
		pause();
	printf("%p %p\n", (void *)&here, (void *)mine);
	return NULL;
}

static void __attribute__((noinline)) innermost(struct node *argument, struct node *volatile *out)
{
	struct node *local[3] = { NULL, NULL, node("local_array", NULL) };
	{
		struct node *volatile block_local = node("block_local", NULL);

		out[0] = block_local;
		out[0] = NULL;
		wait_for_test();
		out[1] = block_local;
	}
	out[2] = local[2];
	out[2] = argument;
}

static void __attribute__((noinline)) middle(void)
{
	struct node *volatile out[4] = { NULL };
	struct cache on_stack;

	memset(&on_stack, 0, sizeof(on_stack));
	on_stack.user.list.first = node("stack_struct", NULL);
	innermost(node("argument", NULL), out);
	printf("%p %p\n", (void *)&on_stack, (void *)out[0]);
}

/* What calls leave behind below is not scanned, and above is overwritten. */
static void __attribute__((noinline)) wipe(void)
{
	char volatile waste[16384];

	memset((char *)waste, 0, sizeof(waste));
}

int main(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	fill_globals();
	fill_shapes();
	lose();
	keep_static();
	t_head = node("tls", NULL);
	t_cache.user.name = make("tls_struct", 44);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, run_thread, &barrier);
	pthread_barrier_wait(&barrier);
	wipe();
	middle();
	return 0;
}
