/* SPDX-License-Identifier: MIT */
/*
 * cmd_leaks_daemon.c - memattach leaks --daemon -p PID: a search for leaks in a process that
 * memattachd watches, which goes on.
 *
 * What was found comes as the live screen gets it, in a file without a name, and is read as
 * carefully; a snapshot then says what its sites are called.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "cli/cmd/snapshot_text.h"
#include "src/base/log.h"
#include "src/report/emit.h"
#include "src/report/human.h"
#include "src/screen/model_leaks.h"

#define USAGE	"leaks --daemon -p PID [--json] [--top N] [--control=SOCKET]"
#define GROUPS	20u

static const char *const kind_name[SCREEN_LEAK_KINDS] = {
	[SCREEN_DEFINITELY] = "definitely_lost", [SCREEN_INDIRECTLY] = "indirectly_lost",
	[SCREEN_POSSIBLY] = "possibly_lost", [SCREEN_REACHABLE] = "still_reachable",
	[SCREEN_SUPPRESSED] = "suppressed",
};
static const char *const verdict_name[SCREEN_VERDICTS] = {
	[SCREEN_LOST] = "definitely lost", [SCREEN_MAYBE_LOST] = "possibly lost",
	[SCREEN_STUCK] = "stuck", [SCREEN_GROWING] = "growing", [SCREEN_OLD] = "old",
};

/* --- what comes ----------------------------------------------------------- */

/* 0 found or none, by leaks; -EBADMSG, -ENOMEM. */
static int read_message(int file, struct model_leaks *leaks)
{
	struct screen_header header;
	_cleanup_free_ char *bytes = NULL;
	struct apart_reader reader;

	if (pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    header.bytes > SCREEN_MAX_BYTES)
		return -EBADMSG;
	bytes = malloc(header.bytes + 1u);
	if (!bytes)
		return -ENOMEM;
	if (pread(file, bytes, header.bytes, sizeof(header)) != (ssize_t)header.bytes)
		return -EBADMSG;
	reader = (struct apart_reader){ bytes, header.bytes };
	if (header.type == SCREEN_LEAKS_FOUND)
		return model_leaks_found(leaks, &reader);
	return header.type == SCREEN_LEAKS_NONE ? model_leaks_none(leaks, &reader) : -EBADMSG;
}

/* Names of sites; NULL where they can't be had, which is said. */
static json_t *read_names(const struct cli_options *options)
{
	struct control_told told;
	json_t *document;

	if (client_ask(options, client_request("snapshot", options->pid), CONTROL_WAIT_LONG,
		       &told) != SESSION_OK)
		return NULL;
	json_decref(told.document);
	document = snapshot_text_read(told.fd);
	cleanup_fd(&told.fd);
	return document;
}

/* --- for people ----------------------------------------------------------- */

static void put_texts(const struct model_group *group)
{
	static const char *const before[SCREEN_GROUP_TEXTS] = {
		[GROUP_TYPE] = "type", [GROUP_VARIABLE] = "assigned to",
		[GROUP_HELD_BY] = "held by", [GROUP_LAST_HELD_BY] = "last held by",
	};

	for (size_t i = 0; i < SCREEN_GROUP_TEXTS; i++)
		if (group->text[i])
			printf("      %s %s\n", before[i], group->text[i]);
}

static void put_group(const struct model_group *group, const json_t *names)
{
	const struct screen_group *figures = &group->figures;

	printf("%-16s %10s in %s blocks", verdict_name[figures->verdict],
	       human_bytes((double)figures->bytes).text,
	       human_count((double)figures->count).text);
	if (figures->indirect_count)
		printf(", and %s in %s they lead to",
		       human_bytes((double)figures->indirect_bytes).text,
		       human_count((double)figures->indirect_count).text);
	if (figures->address_count)
		printf("  0x%llx", (unsigned long long)figures->address[0]);
	putchar('\n');
	put_texts(group);
	if (!figures->site)
		puts("      allocated before it was watched, or not sampled");
	else if (!names || !snapshot_text_put_site(names, figures->site))
		printf("      site %u\n", figures->site);
}

static void put_text(const struct model_leaks *leaks, const json_t *names, uint32_t top)
{
	const struct screen_leaks *head = &leaks->head;

	printf("%s searched in %s; it stood still for %s\n",
	       human_bytes((double)head->scanned_bytes).text, human_seconds(head->seconds).text,
	       human_seconds((double)head->pause_us / 1e6).text);
	for (size_t i = 0; i < SCREEN_LEAK_KINDS; i++)
		printf("%-16s %10s in %s blocks\n", kind_name[i],
		       human_bytes((double)head->kind[i].bytes).text,
		       human_count((double)head->kind[i].count).text);
	if (leaks->uncovered && leaks->uncovered[0])
		printf("not covered: %s\n", leaks->uncovered);
	putchar('\n');
	for (uint32_t i = 0; i < head->group_count && i < top; i++)
		put_group(&leaks->group[i], names);
	if (head->groups_total > top)
		printf("and %u more groups\n", head->groups_total - top);
}

/* --- for programs --------------------------------------------------------- */

static void emit_group(struct emit *to, const struct model_group *group)
{
	const struct screen_group *figures = &group->figures;

	emit_begin(to, NULL, '{');
	emit_text(to, "verdict", verdict_name[figures->verdict]);
	emit_uint(to, "count", figures->count);
	emit_uint(to, "bytes", figures->bytes);
	emit_uint(to, "indirect_count", figures->indirect_count);
	emit_uint(to, "indirect_bytes", figures->indirect_bytes);
	emit_text(to, "type", group->text[GROUP_TYPE]);
	emit_text(to, "variable", group->text[GROUP_VARIABLE]);
	emit_text(to, "held_by", group->text[GROUP_HELD_BY]);
	emit_text(to, "last_held_by", group->text[GROUP_LAST_HELD_BY]);
	emit_uint_if(to, "site", figures->site, figures->site != 0);
	emit_begin(to, "addresses", '[');
	for (uint32_t i = 0; i < figures->address_count; i++)
		emit_uint(to, NULL, figures->address[i]);
	emit_end(to, ']');
	emit_end(to, '}');
}

static int put_json(const struct model_leaks *leaks, uint32_t top)
{
	const struct screen_leaks *head = &leaks->head;
	struct emit to = { .out = stdout };

	emit_begin(&to, NULL, '{');
	emit_real(&to, "time", head->time);
	emit_real(&to, "seconds", head->seconds);
	emit_uint(&to, "pause_us", head->pause_us);
	emit_uint(&to, "scanned_bytes", head->scanned_bytes);
	for (size_t i = 0; i < SCREEN_LEAK_KINDS; i++) {
		emit_begin(&to, kind_name[i], '{');
		emit_uint(&to, "count", head->kind[i].count);
		emit_uint(&to, "bytes", head->kind[i].bytes);
		emit_end(&to, '}');
	}
	emit_text(&to, "uncovered", leaks->uncovered);
	emit_uint(&to, "groups_total", head->groups_total);
	emit_begin(&to, "groups", '[');
	for (uint32_t i = 0; i < head->group_count && i < top; i++)
		emit_group(&to, &leaks->group[i]);
	emit_end(&to, ']');
	emit_end(&to, '}');
	return emit_finish(&to);
}

/* --- the whole ------------------------------------------------------------ */

static int put(const struct model_leaks *leaks, const struct cli_options *options)
{
	uint32_t top = options->session.top;
	json_t *names;

	if (!leaks->found) {
		log_error("no leak check: %s", leaks->problem && leaks->problem[0] ?
			  leaks->problem : "nothing was answered");
		return SESSION_FAILED;
	}
	if (options->session.json) {
		(void)put_json(leaks, top ? top : UINT32_MAX);
	} else {
		names = read_names(options);
		put_text(leaks, names, top ? top : GROUPS);
		json_decref(names);
	}
	if (client_written() != SESSION_OK)
		return SESSION_FAILED;
	return leaks->head.kind[SCREEN_DEFINITELY].count ? SESSION_LEAKS : SESSION_OK;
}

int cmd_leaks_daemon(int argc, char **argv)
{
	static char name[] = "leaks --daemon";
	struct model_leaks leaks = { .found = false };
	struct cli_options options;
	struct control_told told;
	int status, error;

	argv[0] = name;
	status = options_parse(argc, argv, &options);
	if (status == SESSION_OK)
		status = client_check_one(&options, name, USAGE);
	if (status == SESSION_OK)
		status = client_ask(&options, client_request("leaks", options.pid),
				    CONTROL_WAIT_LONG, &told);
	if (status != SESSION_OK)
		return status;
	json_decref(told.document);
	error = read_message(told.fd, &leaks);
	cleanup_fd(&told.fd);
	if (error)
		log_error("what memattachd handed over can't be understood: %s", strerror(-error));
	status = error ? SESSION_FAILED : put(&leaks, &options);
	model_leaks_done(&leaks);
	return status;
}
