/* SPDX-License-Identifier: MIT */
/* data_limit.c - see data_limit.h. */
#include "src/base/data_limit.h"

#include <stdio.h>
#include <unistd.h>

#include "src/base/sanitized.h"

/* The private writable memory of this process; 0: not known. */
static uint64_t data_bytes(int statm)
{
	char text[256];
	ssize_t n = pread(statm, text, sizeof(text) - 1, 0);
	unsigned long pages;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool data_limit_begin(int statm, uint64_t bytes, struct rlimit *ret_before)
{
	struct rlimit limit;
	uint64_t used = MEMATTACH_SANITIZED ? 0 : data_bytes(statm);

	if (!used || getrlimit(RLIMIT_DATA, ret_before) < 0 ||
	    ret_before->rlim_cur <= used + bytes)
		return false;
	limit = (struct rlimit){ used + bytes, ret_before->rlim_max };
	return setrlimit(RLIMIT_DATA, &limit) == 0;
}
