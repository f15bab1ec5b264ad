/* SPDX-License-Identifier: MIT */
/* forged_use.h - everything that reads a recording, and looks at what it writes. */
#ifndef MEMATTACH_TESTS_FORGED_USE_H
#define MEMATTACH_TESTS_FORGED_USE_H

/* See forged_use. name: the file at a moment. */
int forged_use_all(const char *path, const char *name, unsigned int what);

#endif
