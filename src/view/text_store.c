/* SPDX-License-Identifier: MIT */
/* text_store.c - a uthash by text. Nothing is ever taken out: a store lives as long as its view. */
#include "src/view/text_store.h"

#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct text_entry {
	UT_hash_handle hh;
	char text[];
};

void text_store_done(struct text_store *store)
{
	struct text_entry *entry, *next;

	HASH_ITER(hh, store->entry, entry, next) {
		HASH_DEL(store->entry, entry);
		free(entry);
	}
}

const char *text_store_keep(struct text_store *store, const char *text)
{
	struct text_entry *entry;
	size_t length;

	if (!text)
		return NULL;
	length = strlen(text);
	HASH_FIND(hh, store->entry, text, length, entry);
	if (entry)
		return entry->text;
	entry = malloc(sizeof(*entry) + length + 1);
	if (!entry)
		return NULL;
	memcpy(entry->text, text, length + 1);
	entry->hh.tbl = NULL;
	HASH_ADD_KEYPTR(hh, store->entry, entry->text, length, entry);
	if (!entry->hh.tbl) {	/* uthash had no memory */
		free(entry);
		return NULL;
	}
	return entry->text;
}
