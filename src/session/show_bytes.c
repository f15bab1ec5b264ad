/* SPDX-License-Identifier: MIT */
/*
 * show_bytes.c - see show_bytes.h.
 *
 * The examples of a suspect group are the oldest blocks of its site (session_candidates.c): the
 * same order here. Beyond the limit, which many thousand sites reach with few bytes each, groups
 * have no contents; nothing is read a second time, when it would be another moment's.
 */
#include "src/session/show_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/leak/holders/contents.h"

#define MAX_KEPT (32u << 20)	/* bytes */

static int by_site_and_age(const void *a, const void *b)
{
	const struct session_block *x = *(struct session_block *const *)a;
	const struct session_block *y = *(struct session_block *const *)b;

	if (x->known.site != y->known.site)
		return x->known.site < y->known.site ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int by_address(const void *a, const void *b)
{
	const struct leak_content *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int keep_block(struct session_leaks *l, const struct analysis_known *known)
{
	struct block block = { known->address, known->bytes };
	size_t count = l->kept_count;
	struct leak_content *grown = l->kept;
	int error;

	if ((count & (count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, count ? count * 2 : 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->kept = grown;
	error = contents_read(&l->picture, &block, l->options->show_bytes, &l->kept[count]);
	l->kept_count += !error;
	return error;
}

int session_contents_keep(struct session_leaks *l)
{
	_cleanup_free_ struct session_block **block =
		calloc(l->known_count + 1, sizeof(struct session_block *));
	size_t count = 0, of_site = 0, bytes = 0;
	int error = 0;

	if (!block)
		return -ENOMEM;
	for (size_t i = 0; i < l->known_count; i++)
		if (l->known[i].reachable)
			block[count++] = &l->known[i];
	qsort(block, count, sizeof(struct session_block *), by_site_and_age);
	for (size_t i = 0; !error && i < count && bytes < MAX_KEPT; i++) {
		of_site = i && block[i]->known.site == block[i - 1]->known.site ? of_site + 1 : 0;
		if (of_site >= LEAK_MAX_ADDRESSES)
			continue;
		error = keep_block(l, &block[i]->known);
		bytes += sizeof(struct leak_content) + l->options->show_bytes;
	}
	if (l->kept_count)
		qsort(l->kept, l->kept_count, sizeof(*l->kept), by_address);
	return error;
}

/* What is given away is no longer kept. */
static int put_group(struct session_leaks *l, struct leak_group *group)
{
	group->content = calloc(group->address_count + 1, sizeof(*group->content));
	if (!group->content)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->address_count; i++) {
		struct leak_content key = { .address = group->address[i] };
		struct leak_content *found =
			l->kept_count ? bsearch(&key, l->kept, l->kept_count, sizeof(key),
						by_address) : NULL;

		if (!found || !found->byte)
			continue;
		group->content[group->content_count++] = *found;
		found->byte = NULL;
		found->text = NULL;
	}
	return 0;
}

int session_contents_put(struct session_leaks *l)
{
	int error = 0;

	for (size_t i = 0; !error && l->options->show_bytes && i < l->report->group_count; i++)
		if (!l->report->group[i].content)
			error = put_group(l, &l->report->group[i]);
	return error;
}

void session_contents_done(struct session_leaks *l)
{
	for (size_t i = 0; i < l->kept_count; i++)
		leak_content_done(&l->kept[i]);
	free(l->kept);
	l->kept = NULL;
	l->kept_count = 0;
}
