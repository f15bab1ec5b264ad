/* SPDX-License-Identifier: MIT */
/*
 * several_match.c - see several_private.h.
 *
 * A frame is known by its place in its file where all recordings that have a file of that path have
 * the same one (build id). Where a library was replaced while some of the processes ran, or builds
 * of a program are compared, places mean nothing: function, module and line do.
 */
#include "src/several/several_private.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/recording/recorded_names.h"

struct several_path {
	const char *path, *build_id;	/* kept texts: compared by address */
	bool differs;			/* there are several files of this path */
	UT_hash_handle hh;
};

const char *several_match_keep(struct several *several, const char *text)
{
	const char *kept = text_store_keep(&several->tables->texts, text);

	several->tables->no_memory |= text && !kept;
	return kept;
}

static const char *keep(void *context, const char *text)
{
	return several_match_keep(context, text);
}

static struct several_path *find_path(const struct several *several, const char *kept)
{
	struct several_path *path;

	HASH_FIND(hh, several->tables->paths, &kept, sizeof(kept), path);
	return path;
}

static const char *match(void *context, const char *build_id, const char *path)
{
	struct several *several = context;
	struct several_path *known = find_path(several, several_match_keep(several, path));

	return build_id[0] && known && !known->differs ? several_match_keep(several, build_id) :
							 NULL;
}

static int add_module(struct several *several, const struct named_module *module)
{
	const char *path = several_match_keep(several, module->path);
	const char *build_id = several_match_keep(several, module->build_id);
	struct several_path *known = find_path(several, path);

	if (!path || !build_id)
		return -ENOMEM;
	if (known) {
		known->differs |= known->build_id != build_id;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->path = path;
	known->build_id = build_id;
	HASH_ADD(hh, several->tables->paths, path, sizeof(known->path), known);
	if (known->hh.tbl)
		return 0;
	free(known);
	return -ENOMEM;
}

int several_match_init(struct several *several)
{
	int err = 0;

	for (size_t i = 0; i < several->watched; i++) {
		const struct recording_names *names = several->process[i].content->own;

		for (struct named_module *m = names->modules; !err && m; m = m->hh.next)
			err = add_module(several, m);
	}
	return err;
}

struct site_frames several_match_frames(struct several *several)
{
	return (struct site_frames){ .keep = keep, .match = match, .context = several,
				     .with_code = true };
}

void several_match_done(struct several *several)
{
	struct several_path *path, *next;

	HASH_ITER(hh, several->tables->paths, path, next) {
		HASH_DEL(several->tables->paths, path);
		free(path);
	}
	text_store_done(&several->tables->texts);
}
