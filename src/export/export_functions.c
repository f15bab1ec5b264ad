/* SPDX-License-Identifier: MIT */
/* export_functions.c - see export_functions.h. Texts of sites are interned: addresses are keys. */
#include "src/export/export_functions.h"

#include <errno.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct known {
	struct { const char *title, *file, *module; } key;
	uint32_t index;
	UT_hash_handle hh;
};

static void forget(struct known **table)
{
	struct known *known, *next;

	HASH_ITER(hh, *table, known, next) {
		HASH_DEL(*table, known);
		free(known);
	}
}

/* The function of frame, made if new. NULL: out of memory. */
static const struct known *know(struct export_functions *functions, struct known **table,
				const struct view_frame *frame)
{
	struct known find = { .key = { frame->title, frame->file, frame->module } }, *known;

	HASH_FIND(hh, *table, &find.key, sizeof(find.key), known);
	if (known)
		return known;
	known = malloc(sizeof(*known));
	if (!known)
		return NULL;
	*known = find;
	known->index = functions->count;
	HASH_ADD(hh, *table, key, sizeof(known->key), known);
	if (!known->hh.tbl) {
		free(known);
		return NULL;
	}
	functions->function[functions->count++] = frame;
	return known;
}

int export_functions_init(struct export_functions *functions, const struct view_sites *sites)
{
	_cleanup_(forget) struct known *table = NULL;
	size_t room = (size_t)sites->frame_count + 1;

	*functions = (struct export_functions){
		.function = calloc(room, sizeof(*functions->function)),
		.of_frame = calloc(room, sizeof(*functions->of_frame)),
	};
	if (!functions->function || !functions->of_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < sites->frame_count; i++) {
		const struct known *known = know(functions, &table, sites->frame[i]);

		if (!known)
			return -ENOMEM;
		functions->of_frame[i] = known->index;
	}
	return 0;
}

void export_functions_done(struct export_functions *functions)
{
	free(functions->function);
	free(functions->of_frame);
	*functions = (struct export_functions){ 0 };
}
