/* SPDX-License-Identifier: MIT */
/* snapshot_text.h - a snapshot that memattachd handed over, for people. */
#ifndef MEMATTACH_CLI_SNAPSHOT_TEXT_H
#define MEMATTACH_CLI_SNAPSHOT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* The document in file (docs/snapshot.schema.json). NULL: there is none. */
json_t *snapshot_text_read(int file);
/* What it is of, its totals, and so many sites with their frames, on stdout. */
void snapshot_text_put(const json_t *document, uint32_t top);
/* The frames of one of its sites, by number; false: it has none of that number. */
bool snapshot_text_put_site(const json_t *document, uint32_t id);

#endif
