/* SPDX-License-Identifier: MIT */
/*
 * leak_musl_model.c - see leak_musl_model.h.
 *
 * The structs are declared as musl's meta.h does, so that the compiler computes their offsets,
 * not the code under test.
 */
#include "tests/unit/leak_musl_model.h"

#include <string.h>
#include <sys/syscall.h>

#define SECRET	0x5ec7e75ec7e75ec7ull

_Static_assert(sizeof(struct musl_model_meta) == 40, "a meta");
_Static_assert(sizeof(struct musl_model_area) == 4096, "a page of metas");
_Static_assert(sizeof(struct musl_model_context) == 928, "the context");

static const struct lab_area areas[] = {
	{ MUSL_MODEL_LIBC, 0x8000, offsetof(struct musl_model, libc) },
	{ MUSL_MODEL_AREA, 0x2000, offsetof(struct musl_model, area) },
	{ MUSL_MODEL_SLOTS, 0x4000, offsetof(struct musl_model, slots) },
	{ MUSL_MODEL_SINGLE, 0x4000, offsetof(struct musl_model, single) },
	{ MUSL_MODEL_ALONE, 0x23000, offsetof(struct musl_model, alone) },
	{ MUSL_MODEL_FAR, 0x1000, offsetof(struct musl_model, far_low) },
	{ MUSL_MODEL_FAR + 0x1ff000, 0x2000, offsetof(struct musl_model, far_middle) },
	{ MUSL_MODEL_FAR + 0x20f000, 0x1000, offsetof(struct musl_model, far_end) },
};

static const char maps[] =
	"555555702000-555555704000 rw-p 00000000 00:00 0 [heap]\n"
	"7f1000000000-7f1000002000 r-xp 00000000 08:01 77 /lib/ld-musl-x86_64.so.1\n"
	"7f1000002000-7f1000008000 rw-p 00002000 08:01 77 /lib/ld-musl-x86_64.so.1\n"
	"7f1000100000-7f1000104000 rw-p 00000000 00:00 0\n"
	"7f1000200000-7f1000204000 rw-p 00000000 00:00 0\n"
	"7f1000300000-7f1000323000 rw-p 00000000 00:00 0\n"
	"7f1001000000-7f1001210000 rw-p 00000000 00:00 0\n";

struct musl_model_context *musl_model_context(struct musl_model *m)
{
	return (void *)lab_byte(&m->lab, MUSL_MODEL_CONTEXT, sizeof(struct musl_model_context));
}

/* Where a slot begins, and the one behind it. */
static uint64_t slot_at(const struct musl_model_meta *meta, unsigned int index)
{
	static const uint16_t units[] = { [3] = 4, [19] = 63, [35] = 1023, [7] = 8 };
	uint64_t stride = meta->maplen && !meta->last_idx ? meta->maplen * 4096 - 16
							  : units[meta->sizeclass] * 16u;

	return meta->mem + 16 + index * stride;
}

/* A group all of whose slots are free, and its meta; maplen 0: of no mapping. */
static struct musl_model_meta *make_group(struct musl_model *m, uint64_t mem, unsigned int class,
					  unsigned int slots, uint64_t maplen)
{
	uint64_t all = (2ull << (slots - 1)) - 1;
	struct musl_model_meta *meta = m->metas < 4 ? &m->area[0].slot[97 + m->metas]
						    : &m->area[1].slot[m->metas - 4];

	*meta = (struct musl_model_meta){ .mem = mem, .freed_mask = (uint32_t)all & ~1u,
					  .avail_mask = 1, .last_idx = (slots - 1) & 31u,
					  .freeable = 1, .sizeclass = class & 63u,
					  .maplen = maplen & (~0ull >> 12) };
	lab_put(&m->lab, mem, MUSL_MODEL_AREA + (uint64_t)((uint8_t *)meta - (uint8_t *)m->area));
	lab_put_some(&m->lab, mem + 8, slots - 1, 1);
	if (class < 48)
		musl_model_context(m)->usage_by_class[class] += slots;
	m->lab.free_count += slots;
	m->meta[m->metas++] = meta;
	return meta;
}

/* What set_size writes: rest bytes are left between the block's end and the slot's. */
static void put_header(struct musl_model *m, uint64_t p, unsigned int index, uint64_t storage,
		       uint64_t rest, uint64_t end)
{
	uint64_t units = (p - storage) / 16;

	lab_put_some(&m->lab, p - 2, units < 65536 ? units : 0, 2);
	lab_put_some(&m->lab, p - 4, units >= 65536, 1);
	if (units >= 65536)
		lab_put_some(&m->lab, p - 8, units, 4);
	lab_put_some(&m->lab, p - 3, index | (rest < 5 ? rest : 5) << 5, 1);
	if (rest >= 5) {
		lab_put_some(&m->lab, end - 4, rest, 4);
		lab_put_some(&m->lab, end - 5, 0, 1);
	}
}

/* A block of the slot that begins moved units after it. */
static uint64_t make_block(struct musl_model *m, struct musl_model_meta *meta, unsigned int index,
			   uint64_t moved, uint64_t rest)
{
	uint64_t low = slot_at(meta, index), end = slot_at(meta, index + 1) - 4;
	uint64_t p = low + moved * 16;

	meta->avail_mask &= ~(1u << index);
	meta->freed_mask &= ~(1u << index);
	m->lab.free_count--;
	if (moved) {
		lab_put_some(&m->lab, low - 2, moved & 0xffff, 2);
		lab_put_some(&m->lab, low - 3, 7 << 5, 1);
	}
	put_header(m, p, index, meta->mem + 16, rest, end);
	lab_expect(&m->lab, p, end - p - rest);
	return p;
}

/* A slot that holds a group of 15 slots of 64 bytes. */
static void make_nested(struct musl_model *m, struct musl_model_meta *outer, unsigned int index)
{
	uint64_t p = make_block(m, outer, index, 0, 0);
	struct musl_model_meta *meta;

	m->lab.live_count--;
	lab_put_some(&m->lab, p - 3, index | 6 << 5, 1);
	meta = make_group(m, p, 3, 15, 0);
	for (unsigned int i = 0; i < 15; i++) {
		if (i % 4 != 3)
			make_block(m, meta, i, i % 3, i % 8);
	}
	/* One that was freed, and still has what free left. */
	lab_put_some(&m->lab, slot_at(meta, 3) - 4, 0xff00, 4);
}

static void make_groups(struct musl_model *m)
{
	struct musl_model_meta *slots = make_group(m, MUSL_MODEL_SLOTS, 19, 16, 4), *other;

	make_block(m, slots, 0, 0, 0);
	make_nested(m, slots, 1);
	make_block(m, slots, 2, 9, 100);
	make_block(m, slots, 5, 0, 1004);	/* of no bytes */
	m->lab.live[m->lab.live_count - 1].bytes = 1;
	make_block(m, slots, 15, 1, 4);
	make_block(m, make_group(m, MUSL_MODEL_SINGLE, 35, 1, 4), 0, 3, 7);
	other = make_group(m, MUSL_MODEL_ALONE, 63, 1, 0x23);
	make_block(m, other, 0, 200, 90);
	other = make_group(m, MUSL_MODEL_FAR, 63, 1, MUSL_MODEL_FAR_BYTES >> 12);
	make_block(m, other, 0, 0x1ffff, 50);
	other = make_group(m, MUSL_MODEL_DONATED, 7, 1, 0);
	other->freeable = 0;
	musl_model_context(m)->usage_by_class[7]--;
	make_block(m, other, 0, 0, 20);
}

static void make_context(struct musl_model *m)
{
	const uint64_t tail = MUSL_MODEL_AREA + 4096;
	struct musl_model_context *c = musl_model_context(m);

	c->secret = m->area[0].check = m->area[1].check = SECRET;
	c->init_done = 1;
	c->avail_meta_count = 101 - 3;
	c->avail_meta = tail + 24 + 3 * 40;
	c->meta_area_head = MUSL_MODEL_AREA;
	c->meta_area_tail = m->area[0].next = tail;
	c->brk = tail + 4096;
	m->area[0].nslots = m->area[1].nslots = 101;
	/* A free one, in the list that consists of it. */
	m->area[0].slot[50].prev = m->area[0].slot[50].next = c->free_meta_head =
		MUSL_MODEL_AREA + 24 + 50 * 40;
}

static void make_libc(struct musl_model *m)
{
	static const char version[] = "\0""1.2.3\0musl libc (x86_64)";

	lab_put_library(m->libc);
	memcpy(m->libc + 0x1000, version, sizeof(version));
}

void musl_model_build(struct musl_model *m)
{
	*m = (struct musl_model){
		.lab = { LAB_AGAIN(m->lab, areas), .maps = maps,
			 .registers = { .rip = MUSL_MODEL_LIBC + 0x1234, .orig_rax = SYS_pause } },
	};
	make_libc(m);
	make_context(m);
	make_groups(m);
}
