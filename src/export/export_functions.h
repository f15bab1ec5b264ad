/* SPDX-License-Identifier: MIT */
/* export_functions.h - the functions that frames belong to, for formats that name each once. */
#ifndef MEMATTACH_EXPORT_EXPORT_FUNCTIONS_H
#define MEMATTACH_EXPORT_EXPORT_FUNCTIONS_H

#include "src/view/view_sites.h"

/* Frames with the same title, file and module, in whatever lines, are one function. */
struct export_functions {
	uint32_t count;
	const struct view_frame **function;	/* one of its frames, borrowed from the sites */
	uint32_t *of_frame;			/* by view_frame.index: the function's index */
};
/* 0 or -ENOMEM. To be done in any case. */
int export_functions_init(struct export_functions *functions, const struct view_sites *sites)
	_must_check_;
void export_functions_done(struct export_functions *functions);

#endif
