/* SPDX-License-Identifier: MIT */
/* service.c - see service.h. */
#include "src/daemon/service.h"

#include <math.h>

#if HAVE_SYSTEMD

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <systemd/sd-daemon.h>

void service_ready(const char *status)
{
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void service_status(const char *status)
{
	(void)sd_notifyf(0, "STATUS=%s", status);
}

/* The time is what Type=notify-reload asks for; Type=notify takes no notice of it. */
void service_reloading(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
			 (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u);
}

void service_stopping(const char *status)
{
	(void)sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

static void free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

int service_listener(const char *name)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(0, &names), fd = -1;

	for (int i = 0; i < count && fd < 0; i++)
		if (strcmp(names[i], name) == 0)
			fd = SD_LISTEN_FDS_START + i;
	free_names(names);
	if (fd >= 0 && (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0 ||
			fcntl(fd, F_SETFL, O_NONBLOCK) < 0))
		return -EINVAL;
	return fd;
}

double service_watchdog(void)
{
	uint64_t us;

	return sd_watchdog_enabled(0, &us) > 0 ? (double)us * 1e-6 : INFINITY;
}

void service_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

#else

void service_ready(const char *status)
{
	(void)status;
}

void service_status(const char *status)
{
	(void)status;
}

void service_reloading(void)
{
}

void service_stopping(const char *status)
{
	(void)status;
}

int service_listener(const char *name)
{
	(void)name;
	return -1;
}

double service_watchdog(void)
{
	return INFINITY;
}

void service_alive(void)
{
}

#endif
