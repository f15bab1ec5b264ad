/* SPDX-License-Identifier: MIT */
/*
 * call_tree.c - see call_tree.h.
 *
 * A node's children are found by one hash of (parent, function) for the whole tree: wide nodes
 * cost as much as narrow ones. Parents come before their children in the order of ids, so totals
 * are sums upwards in one pass from the last to the first, and nothing here recurses: how deep
 * the tree is, the recording says, and it may be hostile.
 */
#include "src/view/call_tree.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/base/hashmap.h"

#define CHUNK_NODES	1024u

/* What makes two frames one node; texts by address. */
struct node_key {
	const char *title, *file, *module;
	uint64_t line;
};
struct key_entry {
	struct node_key key;
	uint32_t number;
	UT_hash_handle hh;
};

struct call_tree {
	struct call_node **chunk;	/* of CHUNK_NODES; addresses stay */
	uint32_t chunk_count, node_count;
	bool cut;
	enum view_metric sort;
	/* While it is made. */
	struct hashmap index;		/* parent's id and key's number -> id */
	uint32_t *key_of;		/* frame's index -> number */
};

static struct call_node *node_at(const struct call_tree *tree, uint32_t id)
{
	return &tree->chunk[id / CHUNK_NODES][id % CHUNK_NODES];
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return node_at(tree, 0);
}

uint32_t call_tree_node_count(const struct call_tree *tree)
{
	return tree->node_count;
}

bool call_tree_is_cut(const struct call_tree *tree)
{
	return tree->cut;
}

static int number_frame(struct key_entry **keys, const struct node_key *key, uint32_t *ret)
{
	struct key_entry *entry;

	HASH_FIND(hh, *keys, key, sizeof(*key), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->key = *key;
		entry->number = HASH_COUNT(*keys) + 1u;
		HASH_ADD(hh, *keys, key, sizeof(*key), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return -ENOMEM;
		}
	}
	*ret = entry->number;
	return 0;
}

static int number_frames(struct call_tree *tree, const struct view_sites *sites,
			 enum call_tree_by by)
{
	struct key_entry *keys = NULL, *entry, *next;
	int err = 0;

	tree->key_of = calloc((size_t)sites->frame_count + 1, sizeof(*tree->key_of));
	if (!tree->key_of)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < sites->frame_count; i++) {
		const struct view_frame *frame = sites->frame[i];
		struct node_key key = { frame->title, frame->file, frame->module,
					by == CALL_TREE_BY_LINE ? frame->line : 0 };

		err = number_frame(&keys, &key, &tree->key_of[i]);
	}
	HASH_ITER(hh, keys, entry, next) {
		HASH_DEL(keys, entry);
		free(entry);
	}
	return err;
}

/* NULL: out of memory. */
static struct call_node *new_node(struct call_tree *tree)
{
	struct call_node *node;
	void *grown;

	if (tree->node_count == tree->chunk_count * CHUNK_NODES) {
		grown = reallocarray(tree->chunk, tree->chunk_count + 1, sizeof(*tree->chunk));
		if (!grown)
			return NULL;
		tree->chunk = grown;
		tree->chunk[tree->chunk_count] = calloc(CHUNK_NODES, sizeof(struct call_node));
		if (!tree->chunk[tree->chunk_count])
			return NULL;
		tree->chunk_count++;
	}
	node = node_at(tree, tree->node_count);
	node->id = tree->node_count++;
	return node;
}

/* The child of parent for frame, made if new: 0, 1 there is no room, -ENOMEM. */
static int step_down(struct call_tree *tree, struct call_node *parent,
		     const struct view_frame *frame, struct call_node **ret)
{
	uint64_t key = (uint64_t)parent->id << 32 | tree->key_of[frame->index], id;
	struct call_node *node;

	if (hashmap_get(&tree->index, key, &id)) {
		*ret = node_at(tree, (uint32_t)id);
		return 0;
	}
	if (tree->node_count == CALL_TREE_MAX_NODES)
		return 1;
	node = new_node(tree);
	if (!node || hashmap_put(&tree->index, key, node->id) < 0)
		return -ENOMEM;
	node->frame = frame;
	node->depth = parent->depth + 1;
	node->one_line = true;
	node->parent = parent;
	node->next = parent->child;
	parent->child = node;
	*ret = node;
	return 0;
}

static int add_site(struct call_tree *tree, const struct view_site *site, bool reverse)
{
	uint32_t count = site->frame_count - (reverse ? site->caller : 0);
	struct call_node *node = node_at(tree, 0);
	int err = 0;

	node->sites++;
	for (uint32_t i = 0; i < count; i++) {
		const struct view_frame *frame =
			site->frame[reverse ? site->caller + i : site->frame_count - 1 - i];

		err = step_down(tree, node, frame, &node);
		if (err)
			break;
		node->sites++;
		node->one_line &= node->frame->line == frame->line;
	}
	tree->cut |= err > 0;
	for (int m = 0; err >= 0 && m < VIEW_METRIC_COUNT; m++)
		node->self[m] = view_sum(node->self[m], view_metric_value(site->figures,
								  (enum view_metric)m));
	return err < 0 ? err : 0;
}

static void add_up(struct call_tree *tree)
{
	for (uint32_t id = tree->node_count; id-- > 0;) {
		struct call_node *node = node_at(tree, id);

		for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
			node->total[m] = view_sum(node->total[m], node->self[m]);
			if (node->parent)
				node->parent->total[m] = view_sum(node->parent->total[m],
								  node->total[m]);
		}
	}
}

static int compare_texts(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

/* Equal ones in an order that does not depend on addresses. */
static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct call_node *a = *(const struct call_node *const *)left;
	const struct call_node *b = *(const struct call_node *const *)right;
	enum view_metric sort = ((const struct call_tree *)context)->sort;
	int order;

	if (a->total[sort] != b->total[sort])
		return a->total[sort] < b->total[sort] ? 1 : -1;
	order = compare_texts(a->frame->title, b->frame->title);
	if (order == 0)
		order = compare_texts(a->frame->file, b->frame->file);
	if (order == 0 && a->frame->line != b->frame->line)
		order = a->frame->line < b->frame->line ? -1 : 1;
	return order ? order : a->id < b->id ? -1 : 1;
}

/* One list of siblings; room: for as many as there are nodes. */
static void sort_children(struct call_tree *tree, struct call_node *parent,
			  struct call_node **room)
{
	size_t count = 0;

	for (struct call_node *node = parent->child; node; node = node->next)
		room[count++] = node;
	if (count < 2)
		return;
	qsort_r(room, count, sizeof(*room), compare_nodes, tree);
	parent->child = room[0];
	for (size_t i = 0; i < count; i++)
		room[i]->next = i + 1 < count ? room[i + 1] : NULL;
}

static int sort_all(struct call_tree *tree)
{
	_cleanup_free_ struct call_node **room = calloc(tree->node_count, sizeof(*room));

	for (uint32_t id = 0; room && id < tree->node_count; id++)
		sort_children(tree, node_at(tree, id), room);
	return room ? 0 : -ENOMEM;
}

int call_tree_new(const struct view_sites *sites, const struct call_tree_options *options,
		  struct call_tree **ret)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));
	int err = 0;

	if (!tree)
		return -ENOMEM;
	tree->sort = options->sort;
	if (!new_node(tree) || number_frames(tree, sites, options->by) < 0)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < sites->count; i++)
		err = add_site(tree, &sites->site[i], options->reverse);
	if (err == 0) {
		add_up(tree);
		err = sort_all(tree);
	}
	hashmap_done(&tree->index);
	free(tree->key_of);
	tree->key_of = NULL;
	if (err < 0) {
		call_tree_free(tree);
		return err;
	}
	*ret = tree;
	return 0;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	for (uint32_t i = 0; i < tree->chunk_count; i++)
		free(tree->chunk[i]);
	free(tree->chunk);
	free(tree);
}

const struct call_node *call_node_next(const struct call_node *node, bool down)
{
	if (down && node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}
