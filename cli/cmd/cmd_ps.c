/* SPDX-License-Identifier: MIT */
/*
 * cmd_ps.c - memattach ps: the processes that this user can have watched, and which ones are.
 *
 * They are looked for here; what memattachd does with them it is asked, if there is one. Whose
 * memory holds a ring of ours is watched by somebody, or was and is left dormant.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "inject/abi/memfd_names.h"
#include "src/base/log.h"
#include "src/daemon/rights.h"
#include "src/report/human.h"
#include "src/report/printable.h"
#include "src/several/find.h"

#define STATE_COLUMNS	10

struct list {
	struct process_search search;
	json_t *known;		/* by memattachd; NULL: there is none */
	json_t *process;	/* to be told */
};

/* --- what is known of one ------------------------------------------------- */

/* Is there a mapping of ours in it? Not to be read: it is another's. */
static bool holds_ring(pid_t pid)
{
	char path[64], line[4352];
	FILE *maps;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, MEMFD_OUR_PATHS) != NULL;
	if (maps)
		(void)fclose(maps);
	return found;
}

static json_int_t rss_of(pid_t pid)
{
	char path[64];
	long pages = 0;
	FILE *statm;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	statm = fopen(path, "re");
	if (statm && fscanf(statm, "%*d %ld", &pages) != 1)
		pages = 0;
	if (statm)
		(void)fclose(statm);
	return (json_int_t)pages * sysconf(_SC_PAGESIZE);
}

static const json_t *known_of(const struct list *list, pid_t pid)
{
	for (size_t i = 0; i < json_array_size(list->known); i++) {
		const json_t *process = json_array_get(list->known, i);

		if (json_integer_value(json_object_get(process, "pid")) == pid)
			return process;
	}
	return NULL;
}

static const char *state_of(const json_t *known, pid_t pid)
{
	const char *state = json_string_value(json_object_get(known, "state"));

	if (state)
		return state;
	return holds_ring(pid) ? "hooked" : "free";
}

static int cmd_ps_add(struct list *list, pid_t pid)
{
	struct process_name name = process_name(&list->search, pid);
	const json_t *known = known_of(list, pid);
	const char *rule = json_string_value(json_object_get(known, "rule"));
	char *shown = printable_copy(name.text, PRINTABLE_TERMINAL);
	json_t *process;

	process = json_pack("{s:i, s:s, s:I, s:s, s:s?}", "pid", (int)pid, "name",
			    shown ? shown : "", "rss_bytes", rss_of(pid), "state",
			    state_of(known, pid), "rule", rule);
	free(shown);
	return process && json_array_append_new(list->process, process) == 0 ? 0 : -ENOMEM;
}

/* --- all of them ---------------------------------------------------------- */

static bool is_own(const struct list *list, pid_t pid)
{
	const struct control_peer own = { .uid = geteuid(), .gid = getegid(),
					  .all = list->search.user == 0 };
	const struct rights_subject subject = { .pid = pid };

	return pid != getpid() && rights_allow(&list->search, &subject, &own);
}

static int gather(struct list *list)
{
	_cleanup_(process_set_done) struct process_set there = { 0 };
	int error = process_find_all(&list->search, &there);

	for (size_t i = 0; !error && i < there.count; i++)
		if (is_own(list, there.pid[i]) &&
		    process_has_program(&list->search, there.pid[i]) &&
		    !process_is_picture(&list->search, there.pid[i]))
			error = cmd_ps_add(list, there.pid[i]);
	return error;
}

/* Without a memattachd processes are listed all the same, unless its socket was named. */
static int cmd_ps_ask(struct list *list, const struct cli_options *options)
{
	struct control_told told;
	int error;

	if (options->control) {
		error = client_ask(options, json_pack("{s:s}", "command", "status"),
				   CONTROL_WAIT_SECONDS, &told);
	} else {
		json_t *request = json_pack("{s:s}", "command", "status");

		error = request ? control_ask(CONTROL_PATH, request, CONTROL_WAIT_SECONDS, &told) :
				  -ENOMEM;
		json_decref(request);
	}
	if (error)
		return options->control ? error : SESSION_OK;
	list->known = json_incref(json_object_get(told.document, "processes"));
	json_decref(told.document);
	return SESSION_OK;
}

static void put(const json_t *process)
{
	const char *rule = json_string_value(json_object_get(process, "rule"));
	const char *state = json_string_value(json_object_get(process, "state"));

	printf("%8lld %10s  %-*s %-12s %s\n",
	       (long long)json_integer_value(json_object_get(process, "pid")),
	       human_bytes((double)json_integer_value(json_object_get(process, "rss_bytes"))).text,
	       STATE_COLUMNS, state ? state : "?", rule ? rule : "-",
	       json_string_value(json_object_get(process, "name")));
}

static int put_all(const struct list *list, const struct cli_options *options)
{
	json_t *document;
	int status;

	if (options->session.json) {
		document = json_pack("{s:b, s:O}", "memattachd", list->known != NULL, "processes",
				     list->process);
		status = document ? client_print_json(document) : SESSION_FAILED;
		json_decref(document);
		return status;
	}
	printf("%8s %10s  %-*s %-12s %s\n", "pid", "RSS", STATE_COLUMNS, "state", "rule", "name");
	for (size_t i = 0; i < json_array_size(list->process); i++)
		put(json_array_get(list->process, i));
	return client_written();
}

int cmd_ps(int argc, char **argv)
{
	struct list list = { .search = process_search_here(), .process = json_array() };
	struct cli_options options;
	int status = options_parse(argc, argv, &options), error = -ENOMEM;

	if (status == SESSION_OK && options.operands[0]) {
		log_error("usage: memattach ps [--json] [--control=SOCKET]");
		status = SESSION_USAGE;
	}
	if (status == SESSION_OK)
		status = cmd_ps_ask(&list, &options);
	if (status == SESSION_OK) {
		error = list.process ? gather(&list) : -ENOMEM;
		if (error)
			log_error("can't look for processes: %s", strerror(-error));
		status = error ? SESSION_FAILED : put_all(&list, &options);
	}
	json_decref(list.known);
	json_decref(list.process);
	return status;
}
