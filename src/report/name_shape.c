/* SPDX-License-Identifier: MIT */
/*
 * name_shape.c - see name_shape.h.
 *
 * A machine frame's names are shaped once, and kept by what they were made of: a name that is not
 * known yet may be known at the next question. What a session finds out by names (suppressions,
 * variables) and what a recording keeps is never shaped. Shaping in each writer was rejected: they
 * forgot (leaks, the JSON document), and disagreed.
 */
#include "src/report/name_shape.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/base/cleanup.h"
#include "src/symbolize/frame_name.h"

struct shaped_key {
	struct frame machine;
	const struct symbol_frame *from;
};
struct shaped {
	struct shaped_key key;
	UT_hash_handle hh;
	size_t count;
	struct symbol_frame frame[];	/* functions are its own */
};
struct name_shaper {
	struct name_shape shape;
	struct report_names names;	/* with name_shaper_names: asked */
	struct shaped *known;
};

int name_shaper_new(const struct name_shape *shape, struct name_shaper **ret)
{
	struct name_shaper *shaper;

	*ret = NULL;
	if (!name_shape_any(shape))
		return 0;
	shaper = calloc(1, sizeof(*shaper));
	if (!shaper)
		return -ENOMEM;
	shaper->shape = *shape;
	*ret = shaper;
	return 0;
}

static void shaped_free(struct shaped *shaped)
{
	for (size_t i = 0; i < shaped->count; i++)
		free((char *)(uintptr_t)shaped->frame[i].function);
	free(shaped);
}

void name_shaper_free(struct name_shaper *shaper)
{
	struct shaped *shaped, *next;

	if (!shaper)
		return;
	HASH_ITER(hh, shaper->known, shaped, next) {
		HASH_DEL(shaper->known, shaped);
		shaped_free(shaped);
	}
	free(shaper);
}

static char *shape_function(const struct name_shape *shape, const char *function)
{
	char *copy = strdup(function);

	if (copy && shape->function_only)
		frame_name_only(copy);
	if (copy && shape->shorten_templates)
		frame_name_shorten_templates(copy);
	return copy;
}

/* NULL: out of memory. */
static struct shaped *shape_frames(const struct name_shape *shape, const struct symbol_frame *from,
				   size_t count)
{
	/* The last is the function that is really there. */
	size_t first = shape->no_inlined && count > 0 ? count - 1 : 0;
	struct shaped *shaped = calloc(1, sizeof(*shaped) + count * sizeof(*from));

	for (size_t i = first; shaped && i < count; i++) {
		struct symbol_frame *to = &shaped->frame[shaped->count++];

		*to = from[i];
		if (!from[i].function)
			continue;
		to->function = shape_function(shape, from[i].function);
		if (!to->function) {
			shaped_free(shaped);
			return NULL;
		}
	}
	return shaped;
}

static const struct shaped *find(struct name_shaper *shaper, const struct frame *machine,
				 const struct symbol_frame *symbol, size_t count)
{
	struct shaped_key key;
	struct shaped *shaped;

	memset(&key, 0, sizeof(key));
	key.machine.module = machine->module;
	key.machine.flags = machine->flags;
	key.machine.offset = machine->offset;
	key.from = symbol;
	HASH_FIND(hh, shaper->known, &key, sizeof(key), shaped);
	if (shaped)
		return shaped;
	shaped = shape_frames(&shaper->shape, symbol, count);
	if (!shaped)
		return NULL;
	shaped->key = key;
	HASH_ADD(hh, shaper->known, key, sizeof(key), shaped);
	if (shaped->hh.tbl)
		return shaped;
	shaped_free(shaped);
	return NULL;
}

const struct symbol_frame *name_shaper_frames(struct name_shaper *shaper,
					      const struct frame *machine,
					      const struct symbol_frame *symbol, size_t count,
					      size_t *ret_count)
{
	const struct shaped *shaped = shaper && symbol && count ?
					      find(shaper, machine, symbol, count) : NULL;

	*ret_count = shaped ? shaped->count : count;
	return shaped ? shaped->frame : symbol;
}

static const struct symbol_frame *shaped_frame(void *context, const struct frame *frame,
					       size_t *ret_count)
{
	struct name_shaper *shaper = context;
	const struct symbol_frame *symbol;
	size_t count = 0;

	symbol = shaper->names.frame(shaper->names.context, frame, &count);
	return name_shaper_frames(shaper, frame, symbol, count, ret_count);
}

struct report_names name_shaper_names(struct name_shaper *shaper, struct report_names names)
{
	if (!shaper)
		return names;
	shaper->names = names;
	return (struct report_names){ .frame = shaped_frame, .context = shaper,
				      .shape = &shaper->shape };
}

int report_names_shape(struct report_names *names, const struct name_shape *shape,
		       struct name_shaper **ret)
{
	int err = name_shaper_new(shape, ret);

	if (err == 0)
		*names = name_shaper_names(*ret, *names);
	return err;
}

/* "..., next to a call from f(int)": the only name of a function with its parameters there. */
static void shape_caller(char *text)
{
	static const char words[] = " a call from ";
	char *function = strstr(text, words);

	if (function)
		frame_name_only(function + sizeof(words) - 1);
}

char *report_names_text(const struct report_names *names, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (copy && names->shape && names->shape->function_only)
		shape_caller(copy);
	if (copy && names->shape && names->shape->shorten_templates)
		frame_name_shorten_templates(copy);
	return copy;
}
