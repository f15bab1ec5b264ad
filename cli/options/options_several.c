/* SPDX-License-Identifier: MIT */
/* options_several.c - which commands and options go with several processes. */
#include "cli/options/options.h"

#include "src/base/log.h"

bool options_are_several(const struct cli_options *o)
{
	return o->targets.pids > 1 || o->targets.names || o->targets.units || o->targets.follow;
}

int options_check_one(const struct cli_options *o, const char *command)
{
	if (o->targets.pids <= 1)
		return SESSION_OK;
	log_error("`memattach %s` is about one process: one -p", command);
	return SESSION_USAGE;
}

/* The option that is about one process, or NULL. */
static const char *of_one(const struct session_options *s)
{
	return s->trace_to ? "--trace-to" : s->access_seconds > 0 ? "--access" :
	       s->history ? "--history" : s->show_bytes ? "--show-bytes" : NULL;
}

int options_check_several(const struct cli_options *o)
{
	if (o->targets.pids || o->targets.names || o->targets.units)
		return options_check_following(o);
	log_error("--follow: whom? Give -p PID, --name=NAME or --unit=UNIT");
	return SESSION_USAGE;
}

int options_check_following(const struct cli_options *o)
{
	const char *option = of_one(&o->session);

	if (option)
		log_error("%s is about one process: choose one with -p", option);
	else if (o->targets.follow && o->session.duration == 0)
		log_error("--follow watches for a time: it goes with -d SECONDS, or without -d");
	else
		return SESSION_OK;
	return SESSION_USAGE;
}
