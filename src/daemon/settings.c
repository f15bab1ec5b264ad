/* SPDX-License-Identifier: MIT */
/* settings.c - see settings.h: values, what is built in, what rules take from the defaults. */
#include "src/daemon/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/http_address.h"
#include "src/daemon/settings_private.h"

static const char *const fact_name[RULE_FACTS] = {
	[RULE_UNIT] = "unit", [RULE_CGROUP] = "cgroup", [RULE_EXE] = "exe",
	[RULE_NAME] = "name", [RULE_USER] = "user", [RULE_PID_FILE] = "pid-file",
};

const char *settings_fact_name(enum rule_fact fact)
{
	return fact_name[fact];
}

void settings_init(struct settings *settings)
{
	*settings = (struct settings){
		.max_targets = 64,
		.max_memory = 1ull << 30,
		.max_overhead = 2,
		.metrics_every = 15,
		.defaults = {
			.overhead_percent = 1,
			.snapshot_every = 60,
			.ring_bytes = 1ull << 20,
			.attach_after = 30,
			.spread = 10,
			.retry_after = 60,
			.keep_for = 7 * 86400.0,
			.keep_count = 20,
			.keep_bytes = 1ull << 30,
		},
	};
}

static void text_list_done(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->text[i]);
	free(list->text);
	*list = (struct text_list){ 0 };
}

void settings_rule_done(struct watch_rule *rule)
{
	for (size_t i = 0; i < RULE_FACTS; i++) {
		text_list_done(&rule->wanted[i]);
		text_list_done(&rule->excluded[i]);
	}
	free(rule->name);
	free(rule->file);
}

void settings_done(struct settings *settings)
{
	for (size_t i = 0; i < settings->rules; i++)
		settings_rule_done(&settings->rule[i]);
	free(settings->rule);
	free(settings->on_event);
	free(settings->metrics_file);
	free(settings->http.listen);
	free(settings->http.listen_file);
	free(settings->http.token_file);
	*settings = (struct settings){ 0 };
}

int settings_list_add(struct text_list *list, const char *text)
{
	char **grown = reallocarray(list->text, list->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->text = grown;
	grown[list->count] = strdup(text);
	if (!grown[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

/* NULL: no memory, or there are too many. */
struct watch_rule *settings_rule_add(struct settings *settings, const char *name,
				     const char *file, uint32_t line)
{
	struct watch_rule *grown, *rule;

	if (settings->rules == SETTINGS_MAX_RULES)
		return NULL;
	grown = reallocarray(settings->rule, settings->rules + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	settings->rule = grown;
	rule = &grown[settings->rules];
	*rule = (struct watch_rule){ .name = strdup(name), .file = strdup(file), .line = line };
	if (!rule->name || !rule->file) {
		settings_rule_done(rule);
		return NULL;
	}
	settings->rules++;
	return rule;
}

struct watch_rule *settings_rule_named(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->rules; i++)
		if (strcmp(settings->rule[i].name, name) == 0)
			return &settings->rule[i];
	return NULL;
}

/* --- what a rule does not say itself -------------------------------------- */

/* Everything from the defaults but what was given. */
static void inherit(struct watch_settings *watch, const struct watch_settings *defaults)
{
	struct watch_settings own = *watch;

	*watch = *defaults;
	watch->given = own.given;
#define OWN(key, member) \
	do { \
		if (own.given & 1u << (key)) \
			watch->member = own.member; \
	} while (0)
	OWN(WATCH_OVERHEAD, overhead_percent);
	OWN(WATCH_SAMPLE, sample_bytes);
	OWN(WATCH_SNAPSHOT_EVERY, snapshot_every);
	OWN(WATCH_RING, ring_bytes);
	OWN(WATCH_ATTACH_AFTER, attach_after);
	OWN(WATCH_SPREAD, spread);
	OWN(WATCH_RETRY_AFTER, retry_after);
	OWN(WATCH_KEEP_FOR, keep_for);
	OWN(WATCH_KEEP_COUNT, keep_count);
	OWN(WATCH_KEEP_BYTES, keep_bytes);
	OWN(WATCH_LEAK_CHECK, leak_check);
#undef OWN
}

static bool names_somebody(const struct watch_rule *rule)
{
	for (size_t i = 0; i < RULE_FACTS; i++)
		if (rule->wanted[i].count > 0)
			return true;
	return false;
}

static void tell_of_rule(const struct watch_rule *rule, const char *text, settings_tell *tell,
			 void *context)
{
	struct settings_problem problem = { .file = rule->file, .line = rule->line };

	(void)snprintf(problem.text, sizeof(problem.text), "[watch %s] %s", rule->name, text);
	tell(context, &problem);
}

/* What stands in one file may be allowed by the next: asked about at the end. */
static int check_http(const struct http_settings *http, settings_tell *tell, void *context)
{
	struct settings_problem problem = { .file = http->listen_file, .line = http->listen_line };
	struct http_address address;

	if (!http->listen || http->allow_remote || http_address_parse(http->listen, &address) ||
	    address.local)
		return 0;
	(void)snprintf(problem.text, sizeof(problem.text), "listen: %.100s can be reached from "
		       "other machines; [http] has no allow-remote = yes", http->listen);
	tell(context, &problem);
	return 1;
}

int settings_complete(struct settings *settings, settings_tell *tell, void *context)
{
	int problems = check_http(&settings->http, tell, context);

	for (size_t i = 0; i < settings->rules; i++) {
		struct watch_rule *rule = &settings->rule[i];

		inherit(&rule->watch, &settings->defaults);
		if (names_somebody(rule))
			continue;
		tell_of_rule(rule, "names nobody: give it a unit, cgroup, exe, name, user or "
			     "pid-file", tell, context);
		problems++;
	}
	return problems;
}
