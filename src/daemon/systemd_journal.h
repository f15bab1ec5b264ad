/* SPDX-License-Identifier: MIT */
/*
 * systemd_journal.h - messages with fields for systemd's journal (sd_journal_sendv(3)).
 *
 * A file of its own: what it includes gives log.h's levels other values.
 */
#ifndef MEMATTACH_DAEMON_JOURNAL_H
#define MEMATTACH_DAEMON_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_FIELDS 16u

/* Is stderr the stream to the journal that the service manager opened (systemd.exec(5))? */
bool journal_is_there(void);
/* One message of count "NAME=value", up to JOURNAL_FIELDS. False: it was not taken. */
bool journal_put(const char *const field[], size_t count);

#endif
