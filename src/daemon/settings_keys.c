/* SPDX-License-Identifier: MIT */
/* settings_keys.c - the keys of memattach.conf(5): a table for each section. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/quantity.h"
#include "src/daemon/http_address.h"
#include "src/daemon/settings_private.h"
#include "src/daemon/top_sites.h"

#define EXCLUDE		"exclude-"
#define LEAST_PERCENT	0.01
#define LEAST_SAMPLE	16u
#define MOST_SAMPLE	(1ull << 46)
#define LEAST_RING	(1ull << 20)
#define MOST_RING	(1ull << 30)
#define MOST_MEMORY	(1ull << 50)

/* What a value is read into. Each reader says in wanted what it takes. */
struct key {
	const char *name, *wanted;
	int (*read)(const char *value, void *to);
	size_t offset;
	enum watch_key number;		/* of a watch's */
};

static int read_percent(const char *value, void *to)
{
	return quantity_percent(value, to);
}

/* What a session takes, here and below: else each would end at once. */
static int read_overhead(const char *value, void *to)
{
	double percent;

	if (quantity_percent(value, &percent) || percent < LEAST_PERCENT)
		return -EINVAL;
	*(double *)to = percent;
	return 0;
}

static int read_seconds(const char *value, void *to)
{
	return quantity_seconds(value, to);
}

static int read_some_seconds(const char *value, void *to)
{
	double seconds;
	int error = quantity_seconds(value, &seconds);

	if (error || seconds < 1)
		return -EINVAL;
	*(double *)to = seconds;
	return 0;
}

static int read_size(const char *value, void *to)
{
	return quantity_size(value, to);
}

static int read_memory(const char *value, void *to)
{
	uint64_t bytes;

	if (quantity_size(value, &bytes) || bytes > MOST_MEMORY)
		return -EINVAL;
	*(uint64_t *)to = bytes;
	return 0;
}

static int read_count(const char *value, void *to)
{
	uint64_t count;

	if (quantity_size(value, &count) || count == 0 || count > 10000)
		return -EINVAL;
	*(uint64_t *)to = count;
	return 0;
}

static int read_targets(const char *value, void *to)
{
	uint64_t count;

	if (read_count(value, &count))
		return -EINVAL;
	*(uint32_t *)to = (uint32_t)count;
	return 0;
}

static int read_sites(const char *value, void *to)
{
	uint64_t count;

	if (quantity_size(value, &count) || count > TOP_SITES_MOST)
		return -EINVAL;
	*(uint32_t *)to = (uint32_t)count;
	return 0;
}

static int read_sample(const char *value, void *to)
{
	uint64_t bytes = 0;

	if (strcmp(value, "auto") != 0 &&
	    (quantity_size(value, &bytes) || bytes < LEAST_SAMPLE || bytes > MOST_SAMPLE))
		return -EINVAL;
	*(uint64_t *)to = bytes;
	return 0;
}

static int read_ring(const char *value, void *to)
{
	uint64_t bytes;

	if (quantity_size(value, &bytes) || bytes < LEAST_RING || bytes > MOST_RING)
		return -EINVAL;
	*(uint64_t *)to = bytes;
	return 0;
}

static int read_leak_check(const char *value, void *to)
{
	return leak_check_read(value, to);
}

/* "": none, also where an earlier file names one. */
static int read_text(const char *value, void *to)
{
	char *copy = value[0] ? strdup(value) : NULL;

	if (value[0] && !copy)
		return -ENOMEM;
	free(*(char **)to);
	*(char **)to = copy;
	return 0;
}

static int read_path(const char *value, void *to)
{
	return value[0] && value[0] != '/' ? -EINVAL : read_text(value, to);
}

static int read_address(const char *value, void *to)
{
	struct http_address address;

	return value[0] && http_address_parse(value, &address) ? -EINVAL : read_text(value, to);
}

static int read_yes(const char *value, void *to)
{
	bool yes = strcmp(value, "yes") == 0;

	if (!yes && strcmp(value, "no") != 0)
		return -EINVAL;
	*(bool *)to = yes;
	return 0;
}

#define IN(member) offsetof(struct watch_settings, member)
static const struct key watch_key[] = {
	{ "overhead", "a percentage from 0.01 to 100, as in 1%", read_overhead,
	  IN(overhead_percent), WATCH_OVERHEAD },
	{ "sample", "auto, or bytes from 16 on, as in 512K", read_sample, IN(sample_bytes),
	  WATCH_SAMPLE },
	{ "snapshot-every", "a time of 1s or more, as in 1min", read_some_seconds,
	  IN(snapshot_every), WATCH_SNAPSHOT_EVERY },
	{ "ring", "bytes from 1M to 1G", read_ring, IN(ring_bytes), WATCH_RING },
	{ "attach-after", "a time, as in 30s", read_seconds, IN(attach_after),
	  WATCH_ATTACH_AFTER },
	{ "spread", "a time, as in 10s", read_seconds, IN(spread), WATCH_SPREAD },
	{ "retry-after", "a time of 1s or more, as in 1min", read_some_seconds, IN(retry_after),
	  WATCH_RETRY_AFTER },
	{ "keep-for", "a time of 1s or more, as in 7d", read_some_seconds, IN(keep_for),
	  WATCH_KEEP_FOR },
	{ "keep-count", "a number from 1 to 10000", read_count, IN(keep_count),
	  WATCH_KEEP_COUNT },
	{ "keep-bytes", "bytes, as in 1G", read_size, IN(keep_bytes), WATCH_KEEP_BYTES },
	{ "leak-check", "never, on-growth, a time of 1s or more, or times of the day, as in 04:00",
	  read_leak_check, IN(leak_check), WATCH_LEAK_CHECK },
};
#undef IN

static const struct key daemon_key[] = {
	{ "max-targets", "a number from 1 to 10000", read_targets,
	  offsetof(struct settings, max_targets), 0 },
	{ "max-memory", "bytes, as in 1G", read_memory, offsetof(struct settings, max_memory),
	  0 },
	{ "max-overhead", "a percentage, as in 2%", read_percent,
	  offsetof(struct settings, max_overhead), 0 },
	{ "on-event", "a command", read_text, offsetof(struct settings, on_event), 0 },
	{ "metrics-file", "a path from / on", read_path, offsetof(struct settings, metrics_file),
	  0 },
	{ "metrics-every", "a time of 1s or more, as in 15s", read_some_seconds,
	  offsetof(struct settings, metrics_every), 0 },
	{ "metrics-sites", "a number from 0 to 20", read_sites,
	  offsetof(struct settings, metrics_sites), 0 },
};

#define IN(member) offsetof(struct settings, http.member)
static const struct key http_key[] = {
	{ "listen", "an address as in 127.0.0.1:9095, [::1]:9095 or unix:/run/memattach/http",
	  read_address, IN(listen), 0 },
	{ "token-file", "a path from / on", read_path, IN(token_file), 0 },
	{ "allow-remote", "yes or no", read_yes, IN(allow_remote), 0 },
	{ "open", "yes or no", read_yes, IN(open), 0 },
};
#undef IN

static const struct key *find_key(const struct key *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

static int take_value(const struct key *key, const char *value, void *base, char *ret_why,
		      size_t room)
{
	int error = key->read(value, (char *)base + key->offset);

	if (error && error != -ENOMEM) {
		(void)snprintf(ret_why, room, "%s: '%.100s' is not %s", key->name, value,
			       key->wanted);
		error = -EINVAL;
	}
	return error;
}

static int take_watch(struct watch_settings *watch, const struct key *key, const char *value,
		      char *ret_why, size_t room)
{
	int error = take_value(key, value, watch, ret_why, room);

	if (!error)
		watch->given |= 1u << key->number;
	return error;
}

static int no_key(const char *name, const char *section, char *ret_why, size_t room)
{
	(void)snprintf(ret_why, room, "%.60s: no such key in %s; see memattach.conf(5)", name,
		       section);
	return -EINVAL;
}

static int add_text(struct text_list *list, const char *name, const char *value, char *ret_why,
		    size_t room)
{
	if (!value[0]) {
		(void)snprintf(ret_why, room, "%s: the value is missing", name);
		return -EINVAL;
	}
	if (list->count == SETTINGS_MAX_TEXTS) {
		(void)snprintf(ret_why, room, "%s: given more than %u times", name,
			       SETTINGS_MAX_TEXTS);
		return -EINVAL;
	}
	return settings_list_add(list, value);
}

/* A path that begins otherwise is nobody's. */
static bool is_path(const char *name)
{
	static const enum rule_fact path[] = { RULE_CGROUP, RULE_EXE, RULE_PID_FILE };

	name += strncmp(name, EXCLUDE, strlen(EXCLUDE)) == 0 ? strlen(EXCLUDE) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(path); i++)
		if (strcmp(name, settings_fact_name(path[i])) == 0)
			return true;
	return false;
}

/* Is it a fact, or one that excludes? NULL: neither. */
static struct text_list *facts_of(struct watch_rule *rule, const char *name)
{
	bool excludes = strncmp(name, EXCLUDE, strlen(EXCLUDE)) == 0;

	for (int i = 0; i < RULE_FACTS; i++)
		if (strcmp(name + (excludes ? strlen(EXCLUDE) : 0),
			   settings_fact_name((enum rule_fact)i)) == 0)
			return excludes ? &rule->excluded[i] : &rule->wanted[i];
	return NULL;
}

static int take_in_rule(struct watch_rule *rule, const char *name, const char *value,
			char *ret_why, size_t room)
{
	const struct key *key = find_key(watch_key, ARRAY_SIZE(watch_key), name);
	struct text_list *facts = facts_of(rule, name);

	if (facts && value[0] && value[0] != '/' && is_path(name)) {
		(void)snprintf(ret_why, room, "%s: '%.100s' is not a path from / on", name,
			       value);
		return -EINVAL;
	}
	if (facts)
		return add_text(facts, name, value, ret_why, room);
	return key ? take_watch(&rule->watch, key, value, ret_why, room) :
		     no_key(name, "[watch ...]", ret_why, room);
}

static int take_in_daemon(struct settings *settings, const char *name, const char *value,
			  char *ret_why, size_t room)
{
	const struct key *key = find_key(daemon_key, ARRAY_SIZE(daemon_key), name);

	return key ? take_value(key, value, settings, ret_why, room) :
		     no_key(name, "[daemon]", ret_why, room);
}

static int take_in_http(struct settings *settings, const char *name, const char *value,
			char *ret_why, size_t room)
{
	const struct key *key = find_key(http_key, ARRAY_SIZE(http_key), name);

	return key ? take_value(key, value, settings, ret_why, room) :
		     no_key(name, "[http]", ret_why, room);
}

static int take_in_defaults(struct settings *settings, const char *name, const char *value,
			    char *ret_why, size_t room)
{
	const struct key *key = find_key(watch_key, ARRAY_SIZE(watch_key), name);

	return key ? take_watch(&settings->defaults, key, value, ret_why, room) :
		     no_key(name, "[defaults]", ret_why, room);
}

int settings_take(struct settings *settings, enum settings_section section,
		  struct watch_rule *rule, const char *key, const char *value,
		  char *ret_why, size_t room)
{
	switch (section) {
	case SECTION_DAEMON:
		return take_in_daemon(settings, key, value, ret_why, room);
	case SECTION_HTTP:
		return take_in_http(settings, key, value, ret_why, room);
	case SECTION_DEFAULTS:
		return take_in_defaults(settings, key, value, ret_why, room);
	case SECTION_WATCH:
		return take_in_rule(rule, key, value, ret_why, room);
	default:
		(void)snprintf(ret_why, room, "%.60s: it stands in no section", key);
		return -EINVAL;
	}
}
