/* SPDX-License-Identifier: MIT */
/*
 * island_code.c - see island_code.h; the code itself is in arch/x86_64/island_slots.S.
 *
 * Where an allocation's function may be called without a TCB, or jumps on to another hooked one
 * (RING_ISLAND_SPAN), the hook in the shim asks for more than the short path knows. In a session
 * that does not sample every call needs the hook; and the short paths change r10 and r11.
 */
#include "inject/attach/island_code.h"

#include <stddef.h>
#include <string.h>

#define SLOT(name) \
	extern const uint8_t island_slot_##name[] __attribute__((visibility("hidden"))); \
	extern const uint8_t island_root_##name[] __attribute__((visibility("hidden")))

SLOT(malloc);
SLOT(calloc);
SLOT(memalign);
SLOT(posix_memalign);
SLOT(realloc);
SLOT(free);
extern const uint8_t island_slot_thunk[] __attribute__((visibility("hidden")));
extern const uint8_t island_slot_keeping[] __attribute__((visibility("hidden")));

/* A slot with a short path, and where the address of the root page goes. */
struct quick_slot {
	const uint8_t *slot, *root;
};

#define QUICK(name) (struct quick_slot){ island_slot_##name, island_root_##name }

static struct quick_slot quick_slot(enum ring_shape shape)
{
	switch (shape) {
	case RING_SHAPE_MALLOC:
	case RING_SHAPE_NEW_ALIGNED:	/* the size is the first argument, too */
		return QUICK(malloc);
	case RING_SHAPE_CALLOC:
		return QUICK(calloc);
	case RING_SHAPE_MEMALIGN:
		return QUICK(memalign);
	case RING_SHAPE_POSIX_MEMALIGN:
		return QUICK(posix_memalign);
	case RING_SHAPE_REALLOC:
		return QUICK(realloc);
	case RING_SHAPE_FREE:
		return QUICK(free);
	default:
		return (struct quick_slot){ NULL, NULL };
	}
}

static bool may_be_quick(const struct island_code *code)
{
	if (!code->samples || code->shape == RING_SHAPE_FREE)
		return code->samples;
	return (code->index & (RING_ISLAND_TLS | RING_ISLAND_SPAN)) == RING_ISLAND_TLS;
}

void island_code_fill(struct ring_island_entry *ret, const struct island_code *code)
{
	struct quick_slot quick = quick_slot(code->shape);
	size_t at;

	if (quick.slot && may_be_quick(code) && !code->keeps) {
		memcpy(ret, quick.slot, sizeof(*ret));
		at = (uintptr_t)quick.root - (uintptr_t)quick.slot;
		memcpy((uint8_t *)ret + at, &code->root, sizeof(code->root));
	} else {
		memcpy(ret, code->keeps ? island_slot_keeping : island_slot_thunk, sizeof(*ret));
	}
	ret->hook = code->hook;
	ret->index = code->index;
	ret->magic = RING_ISLAND_MAGIC;
}
