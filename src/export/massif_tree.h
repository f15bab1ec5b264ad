/* SPDX-License-Identifier: MIT */
/*
 * massif_tree.h - the tree that Massif prints: from the functions that allocate up to their
 * callers, a node a line of code, with the bytes of one moment.
 */
#ifndef MEMATTACH_EXPORT_MASSIF_TREE_H
#define MEMATTACH_EXPORT_MASSIF_TREE_H

#include "src/export/export_levels.h"
#include "src/export/export_places.h"

struct massif_tree;
/* sites, places: borrowed for the life of the tree. 0 or -ENOMEM. */
int massif_tree_new(const struct view_sites *sites, const struct export_places *places,
		    struct massif_tree **ret) _must_check_;
/* NULL is ignored. */
void massif_tree_free(struct massif_tree *tree);
/*
 * Prints it with these levels; what is below a hundredth of them is put together, as Massif does.
 * 0 or -ENOMEM.
 */
int massif_tree_put(FILE *out, struct massif_tree *tree, const struct export_levels *levels)
	_must_check_;

#endif
