/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what memattachd is to watch, and how: memattach.conf(5) as values.
 *
 * Files of sections; each [watch NAME] is a rule. A rule's settings are its own, else those of
 * [defaults], else built in. Later files add rules; of what is given once in all, the last counts.
 */
#ifndef MEMATTACH_DAEMON_SETTINGS_H
#define MEMATTACH_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/daemon/leak_check.h"

#define SETTINGS_MAX_RULES	1024u
#define SETTINGS_MAX_TEXTS	256u	/* values of one key in one section */

/* What a process can be known by; each may be given several times. */
enum rule_fact {
	RULE_UNIT,		/* systemd's name of it */
	RULE_CGROUP,		/* a pattern of the control group's path; or of one above */
	RULE_EXE,		/* a pattern of the executable file's path */
	RULE_NAME,		/* the command name (comm), or the executable file's own */
	RULE_USER,		/* name or number of the effective user */
	RULE_PID_FILE,		/* a file that holds its id */
	RULE_FACTS
};

struct text_list {
	char **text;
	size_t count;
};

/* Keys that a watch has, for which of them were given. */
enum watch_key {
	WATCH_OVERHEAD, WATCH_SAMPLE, WATCH_SNAPSHOT_EVERY, WATCH_RING, WATCH_ATTACH_AFTER,
	WATCH_SPREAD, WATCH_RETRY_AFTER, WATCH_KEEP_FOR, WATCH_KEEP_COUNT, WATCH_KEEP_BYTES,
	WATCH_LEAK_CHECK,
	WATCH_KEYS
};

/* How a process is watched, and what is kept of it. */
struct watch_settings {
	uint32_t given;			/* bits by enum watch_key */
	double overhead_percent;	/* budget of each, of the target's own time */
	uint64_t sample_bytes;		/* a fixed mean interval; 0: the budget decides */
	double snapshot_every;		/* seconds */
	uint64_t ring_bytes;
	double attach_after;		/* seconds after the process has begun */
	double spread;			/* up to so many more, at random */
	double retry_after;		/* seconds after a refusal; doubled by each */
	double keep_for;		/* seconds: recordings older than that go */
	uint64_t keep_count;		/* of the rule's recordings, at most */
	uint64_t keep_bytes;		/* of them together */
	struct leak_check leak_check;
};

struct watch_rule {
	char *name;
	struct text_list wanted[RULE_FACTS];	/* any of each kind that is given */
	struct text_list excluded[RULE_FACTS];	/* none of any kind */
	struct watch_settings watch;
	char *file;			/* and line, where it stands */
	uint32_t line;
};

/* Whom figures, and what recordings hold, are served to (http.h). */
struct http_settings {
	char *listen;			/* http_address.h; NULL: nowhere */
	char *listen_file;		/* and line, where it stands */
	uint32_t listen_line;
	char *token_file;		/* NULL: none */
	bool allow_remote;		/* listen may be more than this machine */
	bool open;			/* recordings go to anybody who can connect, too */
};

struct settings {
	uint32_t max_targets;		/* at a time */
	uint64_t max_memory;		/* of all sessions together */
	double max_overhead;		/* percent of all processors, of the same */
	char *on_event;			/* command; NULL: none */
	char *metrics_file;		/* NULL: none */
	double metrics_every;		/* seconds from one to the next */
	uint32_t metrics_sites;		/* call paths of each process in them */
	struct http_settings http;
	struct watch_settings defaults;
	struct watch_rule *rule;
	size_t rules;
};

/* One that was found in a file. */
struct settings_problem {
	const char *file;
	uint32_t line;			/* 0: of the whole file */
	char text[256];
};
/* Why a file can't be read, in words; error: -errno. */
const char *settings_file_problem(int error);
typedef void settings_tell(void *context, const struct settings_problem *problem);

/* Everything as it is built in, and no rules. */
void settings_init(struct settings *settings);
void settings_done(struct settings *settings);
/*
 * Adds what stands in file. All of it is read, each problem is told; what is wrong is left out.
 * The number of problems; -errno: the file can't be read, -ENOMEM.
 */
int settings_read_file(struct settings *settings, const char *file, settings_tell *tell,
		       void *context) _must_check_;
/*
 * The files of folder that end in ".conf", by name, as above; a folder that is not there has
 * none. Then settings_complete() is to be called.
 */
int settings_read_folder(struct settings *settings, const char *folder, settings_tell *tell,
			 void *context) _must_check_;
/*
 * After the last file: rules get what they don't say themselves from the defaults; each must say
 * whom it means. The number of problems.
 */
int settings_complete(struct settings *settings, settings_tell *tell, void *context)
	_must_check_;

/* "unit", "exe", ... as the files have it. */
const char *settings_fact_name(enum rule_fact fact);

#endif
