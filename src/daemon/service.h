/* SPDX-License-Identifier: MIT */
/*
 * service.h - what the service manager is told, and what it wants (sd_notify(3)).
 *
 * Where none listens, or without libsystemd, all of it does nothing.
 */
#ifndef MEMATTACH_DAEMON_SERVICE_H
#define MEMATTACH_DAEMON_SERVICE_H

#include "src/base/cleanup.h"

/* From a service's one thread; a line of status is what `systemctl status` shows. */
void service_ready(const char *status);
void service_status(const char *status);
void service_reloading(void);	/* until service_ready() */
void service_stopping(const char *status);
/*
 * The socket of that name (FileDescriptorName=) that the service manager listens at for us, to be
 * closed by the caller; -1: none; -EINVAL it is no Unix stream socket that listens.
 */
int service_listener(const char *name);
/* Seconds after which it must be told at the latest that all is well; INFINITY: never. */
double service_watchdog(void);
void service_alive(void);

#endif
