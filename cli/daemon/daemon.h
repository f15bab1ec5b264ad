/* SPDX-License-Identifier: MIT */
/* daemon.h - memattachd's work: whom its settings mean is watched, until it is told to stop. */
#ifndef MEMATTACH_DAEMON_H
#define MEMATTACH_DAEMON_H

#include "src/daemon/settings.h"

/* Where things lie. */
struct daemon_files {
	const char *config;	/* settings */
	bool config_given;	/* on the command line: it must be there, and is all */
	const char *folder;	/* more of them, "*.conf" */
	const char *state;	/* recordings go below */
	const char *control;	/* socket at which to be asked */
};

/*
 * Reads all of them; each problem is one line on stderr. The number of problems; -errno, which was
 * said. ret is to be settings_done() in any case.
 */
int daemon_read_settings(const struct daemon_files *files, struct settings *ret) _must_check_;
/* Says what the settings are good for: the rules, and whom they mean now. An exit status. */
int daemon_check(const struct daemon_files *files);
/* Watches. An exit status: 0 when it was told to stop and every process is as it was. */
int daemon_run(const struct daemon_files *files);

#endif
