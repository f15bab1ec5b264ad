/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - figures for Prometheus, in its text format 0.0.4 (docs/METRICS.md): for node_exporter
 * as a file, or over HTTP.
 *
 * One series a process and figure, labelled by process id, name and rule; never by an address, a
 * stack or anything else of which there may be endlessly many.
 */
#ifndef MEMATTACH_DAEMON_METRICS_H
#define MEMATTACH_DAEMON_METRICS_H

#include <stdio.h>
#include <sys/types.h>

#include "src/daemon/figures.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_state {
	METRICS_WATCHED = 0, METRICS_LEAVING, METRICS_WAITING, METRICS_REFUSED, METRICS_CLEANING,
	METRICS_STATES
};
/* One that is watched. */
struct metrics_target {
	pid_t pid;
	const char *name, *rule;	/* any bytes */
	double seconds;			/* since it was begun to be watched */
	const struct figures *figures;
};
struct metrics {
	const char *version;
	size_t count[METRICS_STATES];	/* processes in each state */
	struct metrics_target *target;
	size_t targets;
	double now;			/* by the figures' clock */
};
/* 0, -ENOMEM, -errno of the stream. */
int metrics_write(FILE *out, const struct metrics *metrics) _must_check_;
/* Replaces the file at path by that; who reads it sees the old or the new one. 0 or -errno. */
int metrics_write_file(const char *path, const struct metrics *metrics) _must_check_;

#endif
