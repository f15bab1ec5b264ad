/* SPDX-License-Identifier: MIT */
/* cmd_top.c - memattach top: what memattachd watches, by live bytes, again and again. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "src/base/log.h"
#include "src/report/human.h"

#define CLEAR		"\033[H\033[J"
#define PROCESSES	20u
#define SECONDS		2.0

static double figure(const json_t *process, const char *key)
{
	return json_number_value(json_object_get(json_object_get(process, "figures"), key));
}

/* Those that have no figures go last. */
static int by_live_bytes(const void *a, const void *b)
{
	double one = figure(*(json_t *const *)a, "live_bytes");
	double other = figure(*(json_t *const *)b, "live_bytes");

	return one < other ? 1 : one > other ? -1 : 0;
}

static void put_marked(const json_t *process, const char *key, struct human text,
		       char to[HUMAN_BYTES + 1])
{
	(void)snprintf(to, HUMAN_BYTES + 1, "%s%s",
		       client_mark(json_object_get(process, "figures"), key), text.text);
}

static void put(const json_t *process)
{
	char live[HUMAN_BYTES + 1], rate[HUMAN_BYTES + 1];

	put_marked(process, "live_bytes", human_bytes(figure(process, "live_bytes")), live);
	put_marked(process, "allocs_per_second",
		   human_count(figure(process, "allocs_per_second")), rate);
	printf("%10s %10s %10s/s %8.0f  %s\n", live,
	       human_bytes(figure(process, "rss_bytes")).text, rate,
	       figure(process, "growing_sites"), client_process(process));
}

static int put_all(const json_t *answer, uint32_t top, bool clear)
{
	const json_t *processes = json_object_get(answer, "processes");
	size_t count = 0;
	const json_t **list = calloc(json_array_size(processes) + 1, sizeof(*list));

	for (size_t i = 0; list && i < json_array_size(processes); i++)
		if (json_is_object(json_object_get(json_array_get(processes, i), "figures")))
			list[count++] = json_array_get(processes, i);
	if (list)
		qsort(list, count, sizeof(*list), by_live_bytes);
	printf("%s%10s %10s %12s %8s  %s\n", clear ? CLEAR : "", "live", "RSS", "allocations",
	       "growing", "process");
	for (size_t i = 0; i < count && i < top; i++)
		put(list[i]);
	free(list);
	return client_written();
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int show_once(const struct cli_options *options, bool clear)
{
	struct control_told told;
	int status = client_ask(options, json_pack("{s:s}", "command", "status"),
				CONTROL_WAIT_SECONDS, &told);

	if (status != SESSION_OK)
		return status;
	status = put_all(told.document, options->session.top ? options->session.top : PROCESSES,
			 clear);
	json_decref(told.document);
	return status;
}

/* Without a time: until it is ended on a terminal, else once. */
static int show(const struct cli_options *options)
{
	double pause = options->interval_given ? options->session.interval : SECONDS;
	bool terminal = isatty(STDOUT_FILENO);
	double end = options->session.duration >= 0 ? now() + options->session.duration :
		     terminal ? INFINITY : 0;
	struct timespec wait = { .tv_sec = (time_t)pause,
				 .tv_nsec = (long)((pause - floor(pause)) * 1e9) };
	int status = show_once(options, terminal);

	while (status == SESSION_OK && now() + pause <= end) {
		(void)nanosleep(&wait, NULL);
		if (!terminal)
			putchar('\n');
		status = show_once(options, terminal);
	}
	return status;
}

int cmd_top(int argc, char **argv)
{
	struct cli_options options;
	int status = options_parse(argc, argv, &options);

	if (status != SESSION_OK)
		return status;
	if (options.operands[0]) {
		log_error("usage: memattach top [-d SECONDS] [--interval=S] [--top N] "
			  "[--control=SOCKET]");
		return SESSION_USAGE;
	}
	return show(&options);
}
