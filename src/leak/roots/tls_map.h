/* SPDX-License-Identifier: MIT */
/*
 * tls_map.h - where each thread keeps the thread-local variables of each module.
 *
 * Found from relocations that the dynamic loader has filled in and the threads' tables of
 * blocks (glibc's dtv), not from the loader's private structures.
 */
#ifndef MEMATTACH_LEAK_TLS_MAP_H
#define MEMATTACH_LEAK_TLS_MAP_H

#include "src/memory/picture.h"
#include "src/modules/modules.h"

struct tls_block {
	uint64_t low, high;
	const struct module *module;
	int32_t tid;
};
struct tls_map;
/* Both are borrowed for the call; the modules stay pointed to. 0 or -ENOMEM. */
int tls_map_new(const struct picture *picture, const struct modules *modules,
		struct tls_map **ret) _must_check_;
void tls_map_free(struct tls_map *map);
/* The block that holds address, or NULL. */
const struct tls_block *tls_map_find(const struct tls_map *map, uint64_t address);

#endif
