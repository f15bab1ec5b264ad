/* SPDX-License-Identifier: MIT */
/* http_page.h - the page at /: who is watched, and where more is to be had of each. */
#ifndef MEMATTACH_DAEMON_HTTP_PAGE_H
#define MEMATTACH_DAEMON_HTTP_PAGE_H

#include "src/daemon/metrics.h"

/* 0, -ENOMEM, -errno of the stream. */
int http_page_write(FILE *out, const struct metrics *metrics) _must_check_;

#endif
