/* SPDX-License-Identifier: MIT */
/*
 * sanitized.h - MEMATTACH_SANITIZED is 1 in a build with AddressSanitizer, 0 in any other.
 * gcc says so by a macro, clang by a feature.
 */
#ifndef MEMATTACH_SANITIZED_H
#define MEMATTACH_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define MEMATTACH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMATTACH_SANITIZED 1
#endif
#endif

#ifndef MEMATTACH_SANITIZED
#define MEMATTACH_SANITIZED 0
#endif

#endif
