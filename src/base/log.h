/* SPDX-License-Identifier: MIT */
/* log.h - diagnostics on stderr: one line each, prefixed "memattach: ". */
#ifndef MEMATTACH_LOG_H
#define MEMATTACH_LOG_H

#include "src/base/cleanup.h"

enum log_level { LOG_ERROR = 0, LOG_WARNING, LOG_NOTICE, LOG_DEBUG };

/* Highest level that is printed; LOG_NOTICE unless MEMATTACH_DEBUG is set in the environment. */
void log_init(enum log_level level);

/* Prints one line if level is enabled. Keeps errno. Never called while a tracee is stopped. */
void log_print(enum log_level level, const char *format, ...) _printf_(2, 3);
/*
 * Control characters of text (utf8.h) and bytes that are no UTF-8 become "?", byte by byte: text
 * may carry names that a hostile target chose.
 */
void log_neutralise(char *text);

#define log_error(...)   log_print(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_print(LOG_NOTICE, __VA_ARGS__)
#define log_debug(...)   log_print(LOG_DEBUG, __VA_ARGS__)

#endif
