/* SPDX-License-Identifier: MIT */
/*
 * fuzz_thread_frames.c - forged stacks, registers and call frame information of a picture.
 *
 * The walk must end, with no more frames than there is room for; unchanged, with those that
 * there are.
 */
#include <stdlib.h>

#include "src/leak/roots/thread_frames.h"
#include "tests/fuzz/fuzz_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process process;
	const struct picture *picture = &process.lab.picture;
	struct cfi_rules *rules;
	uint64_t pc[64];

	process_open(&process, data, size);
	if (cfi_rules_new(&rules) < 0)
		abort();
	for (size_t i = 0; i < picture->thread_count; i++) {
		size_t count = thread_frames(picture, process.lab.modules, rules,
					     &picture->thread[i], pc, ARRAY_SIZE(pc));

		if (count < 1 || count > ARRAY_SIZE(pc) ||
		    pc[0] != picture->thread[i].registers.rip ||
		    (size == 0 && i == 0 && count != PROCESS_FRAMES))
			abort();
	}
	cfi_rules_free(rules);
	process_close(&process);
	return 0;
}
