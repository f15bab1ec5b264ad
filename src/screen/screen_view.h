/* SPDX-License-Identifier: MIT */
/* screen_view.h - draws a model onto the terminal. */
#ifndef MEMATTACH_SCREEN_VIEW_H
#define MEMATTACH_SCREEN_VIEW_H

#include "src/screen/model.h"

/*
 * Draws all of model, and sets model->page to the rows that its list has got. pre: initscr.
 * What has not changed on the terminal is not sent again.
 */
void view_draw(struct model *model);
/* Parts of it, from line y on; the next free line. For screen_view.c. */
int view_header(const struct model *model, int y);
int view_sites(struct model *model, int y, int end);
int view_threads(struct model *model, int y, int end);
int view_leaks(struct model *model, int y, int end);
/* The stack of site, below which there is room until end. */
void view_stack(const struct model *model, uint32_t site, int y, int end);

#endif
