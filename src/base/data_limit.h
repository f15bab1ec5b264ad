/* SPDX-License-Identifier: MIT */
/* data_limit.h - how much this process may grow, by RLIMIT_DATA: private writable memory. */
#ifndef MEMATTACH_BASE_DATA_LIMIT_H
#define MEMATTACH_BASE_DATA_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/*
 * From now on this process may grow by so many bytes: what asks for more gets ENOMEM. statm:
 * /proc/self/statm, open. *ret_before is to be set again, if that is wanted. False: nothing was
 * changed, as a stricter limit holds, the figures can't be read, or a sanitizer would abort.
 */
bool data_limit_begin(int statm, uint64_t bytes, struct rlimit *ret_before);

#endif
