/* SPDX-License-Identifier: MIT */
/*
 * leak_assigned.c - allocations, each with the variable that a person would say it goes to.
 *
 * Read by tests/unit/test_leak_assigned.c, which builds it in many ways: the comment after
 * //= on the line of a call is the expected text; ^ means that the caller decides. Never run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define GROW(x, n) do { (x) = realloc((x), (n) * sizeof(*(x))); } while (0)
#define NEW(type) ((type *)malloc(sizeof(type)))
#define COPY(s) strcpy(malloc(strlen(s) + 1), s)

struct part {
	int kind;
	char *text;
};
struct node {
	struct node *next;
	char *buf, **names;
	struct part part, parts[4];
	union {
		long number;
		void *data;
	} u;
	struct {
		struct node *left, *right;
	};
	size_t count;
};
typedef struct table {
	struct node **slot;
	struct node *chain[8];
	struct node inlined;
	unsigned int used;
} table_t;

struct node *g_list;
char *g_names[16];
table_t g_table;
static struct { char *path; int fd; } g_log;
__thread char *t_scratch;

NOINLINE void keep(const void *pointer)
{
	__asm__ volatile("" : : "r"(pointer) : "memory");
}

NOINLINE void *xmalloc(size_t bytes)
{
	void *made = malloc(bytes); //= ^

	if (!made)
		abort();
	return made;
}

static inline void *xcalloc(size_t count, size_t bytes)
{
	void *made = calloc(count, bytes); //= ^

	if (!made)
		abort();
	return made;
}

NOINLINE char *copy(const char *text)
{
	return strdup(text); //= ^
}

NOINLINE struct node *node_new(size_t n)
{
	struct node *node = xmalloc(sizeof(*node)); //= ^

	node->buf = malloc(n); //= node->buf : char *
	node->names = xcalloc(n, sizeof(*node->names)); //= node->names : char **
	node->part.text = copy("part"); //= node->part.text : char *
	node->parts[2].text = malloc(n + 2); //= node->parts[2].text : char *
	node->u.data = malloc(n + 3); //= node->u.data : void *
	node->left = xmalloc(n + 4); //= node->left : struct node *
	node->count = n;
	return node;
}

NOINLINE int table_fill(table_t *table, unsigned int at, size_t n)
{
	table->slot = calloc(n, sizeof(*table->slot)); //= table->slot : struct node **
	if (!table->slot)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		table->slot[i] = node_new(n); //= table->slot[i] : struct node *
	table->chain[at] = node_new(n + 1); //= table->chain[at] : struct node *
	if (!(table->chain[3] = malloc(n))) //= table->chain[3] : struct node *
		return -1;
	table->inlined.buf = malloc(n + 9); //= table->inlined.buf : char *
	table->chain[at]->next = realloc( //= table->chain[at]->next : struct node *
		table->chain[at]->next,
		n * sizeof(struct node));
	return 0;
}

NOINLINE void globals(size_t n)
{
	g_list = malloc(n); //= g_list : struct node *
	keep(&g_list);
	g_names[3] = malloc(n + 1); //= g_names[3] : char *
	g_names[n] = malloc(n + 2); //= g_names[n] : char *
	g_table.slot = malloc(n + 3); //= g_table.slot : struct node **
	g_table.inlined.part.text = copy("x"); //= g_table.inlined.part.text : char *
	g_log.path = (char *)malloc(n + 4); //= g_log.path : char *
	t_scratch = malloc(n + 5); //= t_scratch : char *
	keep(t_scratch);
	keep(g_log.path);
	if ((g_list->next =
		malloc(n + 6)) == NULL) //= g_list->next : struct node *
		abort();
}

NOINLINE int out(struct node **ret, char **ret_text, size_t n)
{
	struct node *made;

	*ret_text = malloc(n); //= *ret_text : char *
	if (!*ret_text)
		return -1;
	made = malloc(sizeof(*made)); //= made : struct node *
	if (!made)
		return -1;
	made->count = n;
	*ret = made;
	return 0;
}

NOINLINE size_t locals(const char *text, size_t n)
{
	char *line = malloc(n), *other = malloc(n + 1); //= ?
	struct node *node = NEW(struct node); //= node : struct node *
	char *copied;
	void *a, *b;
	int *numbers = NULL;

	copied = copy(text); //= copied : char *
	keep(copied);
	a = b = malloc(n + 2); //= b : void *
	keep(a);
	keep(b);
	keep(malloc(n + 3)); //= argument of keep
	keep(line);
	keep(other);
	GROW(numbers, n); //= numbers : int *
	keep(numbers);
	node->buf = COPY(text); //= node->buf : char *
	node->next = n > 3 ? malloc(n + 4) : NULL; //= node->next : struct node *
	keep(node);
	n += strlen(copied);
	free(a);
	return n;
}

NOINLINE void initializers(size_t n)
{
	struct part part = { .text = malloc(n) }; //= part.text : char *
	char *texts[2] = {
		copy("a"), //= texts[0]
		copy("b"), //= texts[1]
	};
	static char *once;

	keep(&part);
	keep(texts);
	if (!once)
		once = malloc(n + 1); //= once : char *
	keep(once);
}

static struct node *list_add(struct node *list, size_t n)
{
	struct node *made = xcalloc(1, sizeof(*made)); //= ^

	made->next = list;
	made->count = n;
	return made;
}

NOINLINE void lists(struct node **list, size_t n)
{
	struct node *mine = NULL;

	*list = list_add(*list, n); //= *list : struct node *
	mine = list_add(mine, n); //= mine : struct node *
	keep(mine);
	(*list)->right = node_new(n); //= (*list)->right : struct node *
	while ((mine = node_new(n)) && mine->count) { //= mine : struct node *
		keep(mine);
		free(mine);
	}
}

/* An inlined call of which debug information says nothing else, in one that has a parameter. */
static inline __attribute__((always_inline)) void *bare(void)
{
	return malloc(sizeof(struct node)); //= ^
}

static inline __attribute__((always_inline)) void link_bare(struct node *to)
{
	to->left = bare(); //= to->left : struct node *
}

NOINLINE void inlined(struct node *node)
{
	node->count++;
	link_bare(node);
	keep(node->left);
}

int main(int argc, char **argv)
{
	struct node *node = node_new((size_t)argc); //= node : struct node *
	struct node *made = NULL;
	char *text = NULL;

	keep(node);
	keep(node_new(3)); //= argument of keep
	globals((size_t)argc);
	lists(&made, (size_t)argc);
	initializers((size_t)argc);
	inlined(node);
	if (out(&made, &text, 3) || table_fill(&g_table, 1, 2))
		return 1;
	return (int)locals(argv[0], 4);
}
