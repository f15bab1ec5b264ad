/* SPDX-License-Identifier: MIT */
/*
 * unwind_repeats.c - see unwind_repeats.h.
 *
 * A fiber's first function has nothing to return to. Where nobody wrote a zero there, the walk goes
 * on into what the memory was filled with before. If that is a code address in each word, each word
 * gives one more frame, up to the most that a stack may have. The stack pointer moves on all the
 * time, so that the frames alone tell: a real recursion has its caller outside of it.
 * A recursion deeper than a walk has no caller either. It is known by its call, which leads to the
 * function itself, directly or over a jump of the procedure linkage table.
 * Only frames are looked at, no memory: walks by copies and the shim's paths come to the same end.
 */
#include "src/unwind/unwind_repeats.h"

#include <errno.h>
#include <string.h>

#include "src/unwind/unwind_find.h"

#define CALL_BYTES	5u	/* call rel32 */
#define JUMP_BYTES	11u	/* endbr64; bnd jmp *rel32(%rip) */

struct unwind_repeats {
	const struct modules *modules;
	struct unwind_find *find;
};

int unwind_repeats_new(const struct modules *modules, struct unwind_repeats **ret)
{
	struct unwind_repeats *repeats = calloc(1, sizeof(*repeats));

	if (!repeats)
		return -ENOMEM;
	repeats->modules = modules;
	if (unwind_find_new(&repeats->find) < 0) {
		free(repeats);
		return -ENOMEM;
	}
	*ret = repeats;
	return 0;
}

void unwind_repeats_free(struct unwind_repeats *repeats)
{
	if (!repeats)
		return;
	unwind_find_free(repeats->find);
	free(repeats);
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->module == b->module && a->offset == b->offset && a->flags == b->flags;
}

/* How many of the outermost frames are equal. */
static uint32_t equal_frames(const struct frame *frame, uint32_t count)
{
	uint32_t equal = 1;

	while (equal < count && is_same(&frame[count - 1 - equal], &frame[count - 1]))
		equal++;
	return equal;
}

/* Does code at address jump to where a word of memory says? */
static bool is_linkage(const struct module *module, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *code = module_bytes(module, address, JUMP_BYTES, NULL);

	if (!code)
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		code += sizeof(endbr64);
	if (*code == 0xf2)
		code++;
	return code[0] == 0xff && code[1] == 0x25;
}

/* Can the call before the return address in frame be one of its own function? */
static bool calls_itself(const struct unwind_repeats *repeats, const struct frame *frame)
{
	const struct module *module = modules_get(repeats->modules, frame->module);
	const uint8_t *call;
	struct cfi_fde fde;
	uint64_t target;
	int32_t distance;

	if (!module || module->kind == MODULE_JIT)	/* its code can't be read: it is believed */
		return module != NULL;
	call = module_bytes(module, frame->offset - CALL_BYTES, CALL_BYTES, NULL);
	if (!call || call[0] != 0xe8)
		return false;
	memcpy(&distance, call + 1, sizeof(distance));
	target = frame->offset + (uint64_t)(int64_t)distance;
	if (is_linkage(module, target))
		return true;
	return unwind_find_fde(repeats->find, module, frame->offset - 1, &fde) == 0 &&
	       target - fde.start < fde.end - fde.start;
}

uint32_t unwind_repeats_keep(const struct unwind_repeats *repeats, const struct frame *frame,
			     uint32_t count)
{
	uint32_t equal;

	/* What most stacks cost: one comparison. */
	if (count < UNWIND_REPEATS || !is_same(&frame[count - UNWIND_REPEATS], &frame[count - 1]))
		return count;
	equal = equal_frames(frame, count);
	if (equal < UNWIND_REPEATS || calls_itself(repeats, &frame[count - 1]))
		return count;
	return count - equal + 1;
}
