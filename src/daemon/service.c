/* SPDX-License-Identifier: MIT */
/* service.c - see service.h. */
#include "src/daemon/service.h"

#include <math.h>

#if HAVE_SYSTEMD

#include <inttypes.h>
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

double service_watchdog(void)
{
	return INFINITY;
}

void service_alive(void)
{
}

#endif
