/* SPDX-License-Identifier: MIT */
/* version.h - the version as configure knows it (config.h comes by -include). */
#ifndef MEMATTACH_VERSION_H
#define MEMATTACH_VERSION_H

#ifdef PACKAGE_VERSION
#define VERSION_TEXT PACKAGE_VERSION
#else
#define VERSION_TEXT "unknown"
#endif

/* The libraries it was built with: what it can do beyond the minimum. */
#ifdef MEMATTACH_BUILT_WITH
#define VERSION_FEATURES MEMATTACH_BUILT_WITH
#else
#define VERSION_FEATURES "built by hand"
#endif

#endif
