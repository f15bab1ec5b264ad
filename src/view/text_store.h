/* SPDX-License-Identifier: MIT */
/* text_store.h - texts, each kept once: equal texts have equal addresses. */
#ifndef MEMATTACH_VIEW_TEXT_STORE_H
#define MEMATTACH_VIEW_TEXT_STORE_H

#include "src/base/cleanup.h"

struct text_entry;
/* A zeroed one is empty. */
struct text_store {
	struct text_entry *entry;	/* a uthash */
};

void text_store_done(struct text_store *store);
/* The kept copy of text, valid until text_store_done. NULL for NULL, and when out of memory. */
const char *text_store_keep(struct text_store *store, const char *text);

#endif
