/* SPDX-License-Identifier: MIT */
/*
 * fuzz_roots.c - forged threads: control blocks, their rings, stacks, dtvs, registers.
 *
 * Roots must be ascending, disjoint and in memory that is mapped; blocks of thread-local storage
 * must be found where they are said to be. Unchanged, one ended thread is found.
 */
#include <stdlib.h>

#include "src/leak/roots/roots.h"
#include "src/leak/roots/signal_stack.h"
#include "src/leak/roots/tls_map.h"
#include "tests/fuzz/fuzz_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_roots(const struct process *p, const struct roots *roots)
{
	uint64_t end = 0, bytes = 0;

	for (size_t i = 0; i < roots->count; i++) {
		const struct root *root = &roots->root[i];

		if (root->low < end || root->low >= root->high || (root->low | root->high) % 8 ||
		    !procmaps_find(&p->lab.picture.maps, root->low) ||
		    !procmaps_find(&p->lab.picture.maps, root->high - 1) ||
		    roots_find(roots, root->low) != root)
			abort();
		end = root->high;
		bytes += root->high - root->low;
	}
	if (bytes != roots->bytes || bytes > 0x20000)
		abort();
}

static void check_tls(const struct process *p, bool unchanged)
{
	struct tls_map *map;
	const struct tls_block *block;

	if (tls_map_new(&p->lab.picture, p->lab.modules, &map) < 0)
		abort();
	for (uint64_t at = PROCESS_THREADS; at < PROCESS_THREADS + 0x8000; at += 32) {
		block = tls_map_find(map, at);
		if (block && (at < block->low || at >= block->high))
			abort();
	}
	if (unchanged && !tls_map_find(map, PROCESS_TLS))
		abort();
	tls_map_free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process process;
	const struct roots_input input = { .picture = &process.lab.picture,
					   .classes = ROOT_ALL };
	struct signal_stack stack;
	struct roots roots;

	process_open(&process, data, size);
	if (roots_collect(&input, &roots) < 0)
		abort();
	check_roots(&process, &roots);
	if (size == 0 && roots.ended_threads != PROCESS_ENDED)
		abort();
	check_tls(&process, size == 0);
	for (uint64_t at = PROCESS_STACK; at < PROCESS_STACK + 0x1000; at += 512)
		(void)!signal_stack_find(&process.lab.picture, at, &stack);
	roots_done(&roots);
	process_close(&process);
	return 0;
}
