/* SPDX-License-Identifier: MIT */
/* daemon_settings.c - where settings are read from, and what --check-config says of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/daemon/daemon.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/daemon/match.h"
#include "src/report/printable.h"
#include "src/session/session.h"

static void tell(void *context, const struct settings_problem *problem)
{
	(void)context;
	if (problem->line)
		log_error("%s:%u: %s", problem->file, problem->line, problem->text);
	else
		log_error("%s: %s", problem->file, problem->text);
}

/* must: it is an error that it is not there. */
static int read_one(struct settings *settings, const char *file, bool must)
{
	int result = settings_read_file(settings, file, tell, NULL);

	if (result == -ENOENT && !must)
		return 0;
	if (result < 0)
		log_error("%s: %s", file, settings_file_problem(result));
	return result;
}

int daemon_read_settings(const struct daemon_files *files, struct settings *ret)
{
	int own, folder = 0, rest;

	settings_init(ret);
	own = read_one(ret, files->config, files->config_given);
	if (own < 0)
		return own;
	if (!files->config_given) {
		folder = settings_read_folder(ret, files->folder, tell, NULL);
		if (folder < 0)
			log_error("%s: %s", files->folder, why_file(folder).text);
	}
	if (folder < 0)
		return folder;
	rest = settings_complete(ret, tell, NULL);
	return rest < 0 ? rest : own + folder + rest;
}

/* --- --check-config ------------------------------------------------------- */

/* A process may call itself anything; a terminal would obey it. */
static void print_process(const struct process_facts *facts)
{
	_cleanup_free_ char *name = printable_copy(facts->name, PRINTABLE_TERMINAL);

	printf("  %d %s\n", facts->pid, name ? name : "?");
}

/* pre: matcher's settings hold rule. The number of processes, which are printed. */
static size_t print_meant(const struct matcher *matcher, const struct process_search *search,
			  const struct process_set *all, const struct watch_rule *rule)
{
	static struct process_facts facts;
	size_t found = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (facts_read(search, all->pid[i], &facts) || match_find(matcher, &facts) != rule)
			continue;
		print_process(&facts);
		found++;
	}
	return found;
}

static int print_rules(const struct settings *settings)
{
	const struct process_search search = process_search_here();
	_cleanup_(process_set_done) struct process_set all = { 0 };
	static struct matcher matcher;
	int error = process_find_all(&search, &all);

	if (error)
		return error;
	matcher.settings = settings;
	process_cgroup_root(&search, matcher.root, sizeof(matcher.root));
	for (size_t i = 0; i < settings->rules; i++) {
		const struct watch_rule *rule = &settings->rule[i];

		printf("[watch %s] %s:%u\n", rule->name, rule->file, rule->line);
		if (print_meant(&matcher, &search, &all, rule) == 0)
			printf("  no process that runs now\n");
	}
	return 0;
}

static int cant_write(void)
{
	log_error("can't write to the standard output: %s", why_file(-errno).text);
	return -EIO;
}

int daemon_check(const struct daemon_files *files)
{
	struct settings settings;
	int problems = daemon_read_settings(files, &settings), error = 0;

	if (problems == 0) {
		printf("no problem, %zu rule%s\n", settings.rules, settings.rules == 1 ? "" : "s");
		error = print_rules(&settings);
		if (error)
			log_error("can't look for processes: %s", why_of(error).text);
		else if (fflush(stdout) != 0 || ferror(stdout))
			error = cant_write();
	}
	settings_done(&settings);
	if (problems == -ENOMEM || error)
		return SESSION_FAILED;
	return problems ? SESSION_USAGE : SESSION_OK;
}
