/* SPDX-License-Identifier: MIT */
/* pprof_tables.h - strings by number, and parts of a profile written as they come. */
#ifndef MEMATTACH_EXPORT_PPROF_TABLES_H
#define MEMATTACH_EXPORT_PPROF_TABLES_H

#include <stdio.h>

#include "src/base/hashmap.h"

struct ProtobufCMessage;

/*
 * A profile's parts may follow each other in any order and number: protobuf says that messages put
 * behind each other are one. So nothing is kept but the strings.
 */
struct pprof_tables {
	FILE *out;
	struct hashmap by_address;	/* of text -> index */
	size_t count;
	const char **text;		/* borrowed; the first is "" */
};
/* out: borrowed. 0 or -ENOMEM. To be done in any case. */
int pprof_tables_init(struct pprof_tables *tables, FILE *out) _must_check_;
void pprof_tables_done(struct pprof_tables *tables);
/*
 * The number of text, which must live as long as tables and is known by its address. *error gets
 * -ENOMEM where that fails (the number is 0, ""), else stays.
 */
int64_t pprof_string(struct pprof_tables *tables, const char *text, int *error);
/*
 * Writes a part: the base of a Memattach__Pprof__Profile. 0 or -ENOMEM; the stream keeps its own
 * errors.
 */
int pprof_put(struct pprof_tables *tables, const struct ProtobufCMessage *part) _must_check_;
/* Writes the strings, as valid UTF-8. After everything else. 0 or -ENOMEM. */
int pprof_put_strings(struct pprof_tables *tables) _must_check_;

#endif
