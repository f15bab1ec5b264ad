/* SPDX-License-Identifier: MIT */
/*
 * model_leaks.c - see model_leaks.h. As in model.c a message is checked whole before it counts, and
 * texts are made printable here.
 */
#include "src/screen/model_leaks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/report/printable.h"

static void groups_done(struct model_group *group, uint32_t count)
{
	for (uint32_t i = 0; group && i < count; i++)
		for (size_t k = 0; k < SCREEN_GROUP_TEXTS; k++)
			free(group[i].text[k]);
	free(group);
}

void model_leaks_done(struct model_leaks *leaks)
{
	groups_done(leaks->group, leaks->head.group_count);
	free(leaks->uncovered);
	free(leaks->problem);
	*leaks = (struct model_leaks){ .found = false };
}

/* NULL stays NULL. 0, -EBADMSG, -ENOMEM. */
static int get_text(struct apart_reader *reader, char **ret)
{
	const char *text;

	*ret = NULL;
	if (apart_get_text(reader, &text))
		return -EBADMSG;
	if (text)
		*ret = printable_copy(text, PRINTABLE_TERMINAL);
	return text && !*ret ? -ENOMEM : 0;
}

static void mend(double *value, double low)
{
	if (!isfinite(*value) || *value < low)
		*value = low;
	if (*value > 1e18)
		*value = 1e18;
}

static int get_group(struct apart_reader *reader, struct model_group *ret)
{
	struct screen_group *figures = &ret->figures;
	int error = apart_get(reader, figures, sizeof(*figures));

	if (!error && (figures->verdict >= SCREEN_VERDICTS ||
		       figures->address_count > SCREEN_GROUP_ADDRESSES))
		error = -EBADMSG;
	for (size_t i = 0; !error && i < SCREEN_GROUP_TEXTS; i++)
		error = get_text(reader, &ret->text[i]);
	mend(&figures->oldest, -1);
	return error;
}

int model_leaks_found(struct model_leaks *leaks, struct apart_reader *reader)
{
	struct model_leaks found = { .found = true, .unseen = leaks->unseen };
	struct screen_leaks head;
	int error;

	if (apart_get(reader, &head, sizeof(head)) || head.group_count > SCREEN_MAX_GROUPS)
		return -EBADMSG;
	mend(&head.time, 0);
	mend(&head.seconds, 0);
	found.group = calloc((size_t)head.group_count + 1, sizeof(*found.group));
	if (!found.group)
		return -ENOMEM;
	error = get_text(reader, &found.uncovered);
	for (; !error && found.head.group_count < head.group_count; found.head.group_count++)
		error = get_group(reader, &found.group[found.head.group_count]);
	if (!error && reader->left)
		error = -EBADMSG;
	if (error) {	/* what was not read of it is NULL */
		found.head.group_count = head.group_count;
		model_leaks_done(&found);
		return error;
	}
	found.head = head;
	model_leaks_done(leaks);
	*leaks = found;
	return 0;
}

int model_leaks_none(struct model_leaks *leaks, struct apart_reader *reader)
{
	char *problem;
	int error = get_text(reader, &problem);

	if (error)
		return error;
	free(leaks->problem);
	leaks->problem = problem ? problem : strdup("");
	leaks->searching = false;
	return leaks->problem ? 0 : -ENOMEM;
}
