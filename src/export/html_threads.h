/* SPDX-License-Identifier: MIT */
/* html_threads.h - threads, for the page. */
#ifndef MEMATTACH_EXPORT_HTML_THREADS_H
#define MEMATTACH_EXPORT_HTML_THREADS_H

#include "src/live/thread_table.h"
#include "src/report/emit.h"

/* "threads": null for NULL, else columns of rows and of handovers. */
void html_threads_put(struct emit *emit, const struct thread_table *table);

#endif
