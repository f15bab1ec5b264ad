/* SPDX-License-Identifier: MIT */
/* metrics_private.h - what metrics.c shares with metrics_sites.c. */
#ifndef MEMATTACH_DAEMON_METRICS_PRIVATE_H
#define MEMATTACH_DAEMON_METRICS_PRIVATE_H

#include "src/daemon/metrics.h"

enum metrics_type { GAUGE, COUNTER };

/* name: without "memattach_". */
void metrics_put_head(FILE *out, const char *name, enum metrics_type type, const char *help);
/* NAME="VALUE", whatever bytes value has. 0 or -ENOMEM. */
int metrics_put_label(FILE *out, const char *name, const char *value) _must_check_;
/* A series' name and the labels of all of a target's; "}" is still to come. 0 or -ENOMEM. */
int metrics_put_target(FILE *out, const char *name, const struct metrics_target *target)
	_must_check_;

/* What the last search for leaks found in each target. 0 or -ENOMEM. */
int metrics_put_leaks(FILE *out, const struct metrics *metrics) _must_check_;
/* The call paths with the most live bytes. 0 or -ENOMEM. */
int metrics_put_sites(FILE *out, const struct metrics *metrics) _must_check_;

#endif
