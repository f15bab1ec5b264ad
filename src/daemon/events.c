/* SPDX-License-Identifier: MIT */
/* events.c - see events.h. */
#include "src/daemon/events.h"

#include <stdio.h>

#include "src/base/log.h"
#include "src/daemon/systemd_journal.h"

#define TEXT_BYTES	1024u

/* Priorities are those of syslog(3). */
static const struct {
	const char *name, *id;
	int priority;
	enum log_level level;
} kind_table[EVENT_KINDS] = {
	[EVENT_WATCHED] = { "watched", "ea11822a75164004a6ffe0ac719da754", 5, LOG_NOTICE },
	[EVENT_LEFT] = { "left", "36456cf7948c45bb9ec4dacf859eeb84", 5, LOG_NOTICE },
	[EVENT_ENDED] = { "ended", "2b9f9ecd0a6e4d799d0a03ac029adb62", 5, LOG_NOTICE },
	[EVENT_REFUSED] = { "refused", "fc2688653c494dc1920ef642341c17a2", 4, LOG_WARNING },
	[EVENT_DORMANT] = { "dormant", "c14e6ab9ddb04c3e9c99eedc2f0f6003", 3, LOG_ERROR },
	[EVENT_FAILED] = { "failed", "65429d987a734b22bb2fd499550800f1", 3, LOG_ERROR },
	[EVENT_CLEANED] = { "cleaned", "7d0f2c5be37f4f1b9a55c1ef6f0a86d2", 5, LOG_NOTICE },
	[EVENT_GROWTH] = { "growth", "6900d9dcda8b94b4725900977cf0143d", 4, LOG_WARNING },
	[EVENT_PLATEAU] = { "plateau", "395b1111dda087d261d442639be4d2e2", 4, LOG_WARNING },
	[EVENT_LEAK] = { "leak", "2e3850791bb96e397aa27b746e46662e", 4, LOG_WARNING },
	[EVENT_BUDGET] = { "budget", "77e17dc1b77e1cfffc03bb1ec4b06fea", 4, LOG_WARNING },
	[EVENT_LOSS] = { "loss", "d8dd755af435a99fd08d84b7e0906dc6", 4, LOG_WARNING },
};

const char *event_name(enum event_kind kind)
{
	return kind_table[kind].name;
}

const char *event_message_id(enum event_kind kind)
{
	return kind_table[kind].id;
}

static bool put_in_journal(const struct daemon_event *event, const char *line)
{
	const char *const value[] = {
		line, event_message_id(event->kind), event_name(event->kind), event->name,
		event->rule, event->recording,
	};
	static const char *const name[] = {
		"MESSAGE", "MESSAGE_ID", "MEMATTACH_EVENT", "MEMATTACH_TARGET_NAME",
		"MEMATTACH_RULE", "MEMATTACH_RECORDING",
	};
	char text[ARRAY_SIZE(name) + 2 + EVENT_NUMBERS][TEXT_BYTES + 32];
	const char *field[ARRAY_SIZE(text)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		if (!value[i])
			continue;
		(void)snprintf(text[count], sizeof(*text), "%s=%s", name[i], value[i]);
		log_neutralise(text[count++]);
	}
	(void)snprintf(text[count++], sizeof(*text), "PRIORITY=%d",
		       kind_table[event->kind].priority);
	(void)snprintf(text[count++], sizeof(*text), "MEMATTACH_TARGET_PID=%d", event->pid);
	for (size_t i = 0; i < event->numbers && i < EVENT_NUMBERS; i++)
		(void)snprintf(text[count++], sizeof(*text), "MEMATTACH_%s=%llu",
			       event->number[i].name, (unsigned long long)event->number[i].value);
	for (size_t i = 0; i < count; i++)
		field[i] = text[i];
	return journal_put(field, count);
}

void event_tell(const struct daemon_event *event)
{
	char line[TEXT_BYTES];

	(void)snprintf(line, sizeof(line), "%d%s%s: %s", event->pid, event->name[0] ? " " : "",
		       event->name, event->text);
	log_neutralise(line);
	if (!journal_is_there() || !put_in_journal(event, line))
		log_print(kind_table[event->kind].level, "%s", line);
}
