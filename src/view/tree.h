/* SPDX-License-Identifier: MIT */
/* tree.h - views of the call tree: itself, and folded text for flame graphs. */
#ifndef MEMATTACH_VIEW_TREE_H
#define MEMATTACH_VIEW_TREE_H

#include "src/view/view.h"

/* The tree of functions, children by the metric; see struct view_options. */
int tree_text(FILE *out, const struct view_input *input);
int tree_json(struct emit *emit, const struct view_input *input);

/* "main;serve;grow 4096": a line a call path, with what was allocated at its end. No head. */
int flame_text(FILE *out, const struct view_input *input);
int flame_json(struct emit *emit, const struct view_input *input);

#endif
