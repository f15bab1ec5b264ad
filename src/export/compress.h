/* SPDX-License-Identifier: MIT */
/* compress.h - a stream that writes compressed to another one. */
#ifndef MEMATTACH_EXPORT_COMPRESS_H
#define MEMATTACH_EXPORT_COMPRESS_H

#include <stdio.h>

#include "src/base/cleanup.h"

enum compress_kind { COMPRESS_GZIP = 0, COMPRESS_ZSTD };

/*
 * under: borrowed, stays open; what was written to it is whole only after fclose(*ret), which tells
 * of errors. 0, -ENOTSUP this build lacks the library, -ENOMEM.
 */
int compress_open(FILE *under, enum compress_kind kind, FILE **ret) _must_check_;

#endif
