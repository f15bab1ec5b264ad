/* SPDX-License-Identifier: MIT */
/* daemon_tidy.c - see daemon_private.h: old recordings go. */
#include "cli/daemon/daemon_private.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/daemon/retention.h"

/* Is one of this name (context's rule is the folder's) being written? */
struct shelf {
	const struct daemon *daemon;
	const char *rule;
};

static bool is_being_written(void *context, const char *name)
{
	const struct shelf *shelf = context;

	for (size_t i = 0; i < shelf->daemon->watches; i++) {
		const struct daemon_watch *watch = &shelf->daemon->watch[i];
		const char *base = watch->recording ? strrchr(watch->recording, '/') : NULL;

		if (base && strcmp(watch->rule, shelf->rule) == 0 && strcmp(base + 1, name) == 0)
			return true;
	}
	return false;
}

static void tidy(struct daemon *d, const char *name, const struct watch_settings *watch)
{
	struct shelf shelf = { d, name };
	char folder[4096];
	int removed;

	(void)snprintf(folder, sizeof(folder), "%s/%s", d->files->state, name);
	removed = retention_apply(folder, watch, time(NULL), is_being_written, &shelf);
	if (removed > 0)
		log_notice("[watch %s]: %d recording%s removed", name, removed,
			   removed == 1 ? "" : "s");
	else if (removed < 0 && removed != -ENOENT)
		log_error("[watch %s]: old recordings in %s can't be removed: %s", name, folder,
			  why_file(removed).text);
}

static bool is_a_rule(const struct daemon *d, const char *name)
{
	for (size_t i = 0; i < d->settings.rules; i++)
		if (strcmp(d->settings.rule[i].name, name) == 0)
			return true;
	return false;
}

/* by-hand, or by-hand.UID. */
static bool is_by_hand(const char *name)
{
	const size_t length = strlen(DAEMON_BY_HAND);

	if (strncmp(name, DAEMON_BY_HAND, length) != 0)
		return false;
	name += length;
	return !name[0] || (name[0] == '.' && name[1] && !name[1 + strspn(name + 1, "0123456789")]);
}

static void tidy_by_hand(struct daemon *d)
{
	DIR *state = opendir(d->files->state);
	const struct dirent *entry;

	while (state && (entry = readdir(state)))
		if (is_by_hand(entry->d_name) && !is_a_rule(d, entry->d_name))
			tidy(d, entry->d_name, &d->settings.defaults);
	if (state)
		(void)closedir(state);
}

void daemon_tidy_hand(struct daemon *d, const struct daemon_watch *watch)
{
	if (watch->by_hand && !is_a_rule(d, watch->rule))
		tidy(d, watch->rule, &d->settings.defaults);
}

void daemon_tidy_up(struct daemon *d)
{
	d->tidied = roster_now();
	for (size_t i = 0; i < d->settings.rules; i++)
		tidy(d, d->settings.rule[i].name, &d->settings.rule[i].watch);
	tidy_by_hand(d);
}
