/* SPDX-License-Identifier: MIT */
/* settings_private.h - between the files that make up settings.h. */
#ifndef MEMATTACH_DAEMON_SETTINGS_PRIVATE_H
#define MEMATTACH_DAEMON_SETTINGS_PRIVATE_H

#include "src/daemon/settings.h"

/* text is copied. 0 or -ENOMEM. */
int settings_list_add(struct text_list *list, const char *text) _must_check_;
/* A new rule; name and file are copied. NULL: no memory, or SETTINGS_MAX_RULES are there. */
struct watch_rule *settings_rule_add(struct settings *settings, const char *name,
				     const char *file, uint32_t line);
/* NULL: there is none. Valid until the next is added. */
struct watch_rule *settings_rule_named(const struct settings *settings, const char *name);
void settings_rule_done(struct watch_rule *rule);

/* Where a key stands, and what is made of it. */
enum settings_section {
	SECTION_NONE, SECTION_DAEMON, SECTION_HTTP, SECTION_DEFAULTS, SECTION_WATCH
};

/*
 * Takes key = value of a section. rule: of SECTION_WATCH. 0; -EINVAL ret_why says what is wrong
 * with it; -ENOMEM.
 */
int settings_take(struct settings *settings, enum settings_section section,
		  struct watch_rule *rule, const char *key, const char *value,
		  char *ret_why, size_t room) _must_check_;

#endif
