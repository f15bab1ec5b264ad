/* SPDX-License-Identifier: MIT */
/* match.c - see match.h. */
#include "src/daemon/match.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int facts_read(const struct process_search *search, pid_t pid, struct process_facts *ret)
{
	*ret = (struct process_facts){ .pid = pid };
	if (!process_has_program(search, pid) || process_is_picture(search, pid))
		return -ESRCH;
	ret->user = process_user(search, pid);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", process_name(search, pid).text);
	process_executable(search, pid, ret->executable, sizeof(ret->executable));
	process_cgroup(search, pid, ret->cgroup, sizeof(ret->cgroup));
	return ret->user == (uid_t)-1 ? -ESRCH : 0;
}

/* --- one fact ------------------------------------------------------------- */

static bool is_unit(const struct matcher *matcher, const struct process_facts *facts,
		    const char *text)
{
	char unit[256];

	process_unit_name(text, unit, sizeof(unit));
	return process_unit_holds(facts->cgroup, matcher->root, unit, 0);
}

/* The group itself, or one above. */
static bool is_in_group(const struct matcher *matcher, const struct process_facts *facts,
			const char *text)
{
	(void)matcher;
	return facts->cgroup[0] &&
	       fnmatch(text, facts->cgroup, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static bool is_executable(const struct matcher *matcher, const struct process_facts *facts,
			  const char *text)
{
	(void)matcher;
	return facts->executable[0] && fnmatch(text, facts->executable, FNM_PATHNAME) == 0;
}

static bool is_name(const struct matcher *matcher, const struct process_facts *facts,
		    const char *text)
{
	(void)matcher;
	return process_is_called(facts->name, facts->executable, text);
}

static bool is_user(const struct matcher *matcher, const struct process_facts *facts,
		    const char *text)
{
	const struct passwd *user;
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	(void)matcher;
	if (end != text && !*end)
		return number == facts->user;
	user = getpwnam(text);		/* asked each time: it may be made later */
	return user && user->pw_uid == facts->user;
}

/* Its first word is the process's id. What is no small regular file holds none. */
static bool is_in_file(const struct matcher *matcher, const struct process_facts *facts,
		       const char *text)
{
	_cleanup_fd_ int fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char content[64] = "";
	struct stat status;

	(void)matcher;
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    read(fd, content, sizeof(content) - 1) <= 0)
		return false;
	return strtol(content, NULL, 10) == facts->pid;
}

/* What is dear to find out stands last. */
static const struct {
	enum rule_fact fact;
	bool (*is)(const struct matcher *matcher, const struct process_facts *facts,
		   const char *text);
} question[] = {
	{ RULE_NAME, is_name },
	{ RULE_EXE, is_executable },
	{ RULE_UNIT, is_unit },
	{ RULE_CGROUP, is_in_group },
	{ RULE_USER, is_user },
	{ RULE_PID_FILE, is_in_file },
};

/* --- rules ---------------------------------------------------------------- */

static bool is_any(const struct matcher *matcher, const struct process_facts *facts, size_t which,
		   const struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (question[which].is(matcher, facts, list->text[i]))
			return true;
	return false;
}

static bool means(const struct matcher *matcher, const struct watch_rule *rule,
		  const struct process_facts *facts)
{
	bool asked = false;

	for (size_t i = 0; i < ARRAY_SIZE(question); i++) {
		const struct text_list *wanted = &rule->wanted[question[i].fact];

		if (wanted->count == 0)
			continue;
		asked = true;
		if (!is_any(matcher, facts, i, wanted))
			return false;
	}
	for (size_t i = 0; asked && i < ARRAY_SIZE(question); i++)
		if (is_any(matcher, facts, i, &rule->excluded[question[i].fact]))
			return false;
	return asked;
}

const struct watch_rule *match_find(const struct matcher *matcher,
				    const struct process_facts *facts)
{
	for (size_t i = 0; i < matcher->settings->rules; i++)
		if (means(matcher, &matcher->settings->rule[i], facts))
			return &matcher->settings->rule[i];
	return NULL;
}
