/* SPDX-License-Identifier: MIT */
/* lifetimes_view.h - how long blocks lived, of all and by site. */
#ifndef MEMATTACH_VIEW_LIFETIMES_VIEW_H
#define MEMATTACH_VIEW_LIFETIMES_VIEW_H

#include "src/view/view.h"

/* pre of the others: this is NULL. */
const char *lifetimes_missing(const struct view_input *input);
/* A histogram of freed blocks' lifetimes, and by site how many outlive some ages. */
int lifetimes_text(FILE *out, const struct view_input *input);
int lifetimes_json(struct emit *emit, const struct view_input *input);

#endif
