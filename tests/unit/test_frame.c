/* SPDX-License-Identifier: MIT */
/*
 * test_frame.c - the extended state in a signal frame is one that the kernel takes.
 * What it does with the whole frame is shown by the tests that kill memattach at
 * every step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cpuid.h>
#include <string.h>

#include "inject/arch/x86_64/frame.h"

enum { ALL_BYTES = 11008, SOFTWARE = 464, HEADER = 512, TILE_DATA = 18 };

struct software {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t bytes;
};

/* As ptrace gives it on a machine with AMX, with or without tiles in use. */
static void build_below(uint64_t below, uint64_t features, uint64_t in_use,
			struct frame_image *image)
{
	static uint8_t xstate[ALL_BYTES];
	struct user_regs_struct registers = { .rsp = 0x7ffff0001238, .cs = 0x33, .ss = 0x2b };
	struct frame_input input = { &registers, below, xstate, sizeof(xstate), 0,
				     0x401000 };

	memset(xstate, 0x5a, sizeof(xstate));
	memcpy(xstate + SOFTWARE, &features, sizeof(features));
	memcpy(xstate + HEADER, &in_use, sizeof(in_use));
	assert_int_equal(frame_build(&input, image), 0);
}

static void build(uint64_t features, uint64_t in_use, struct frame_image *image)
{
	build_below(0x7ffff0001238, features, in_use, image);
}

static struct software software_of(const struct frame_image *image, const uint8_t **ret_state)
{
	struct software software;
	uint64_t fpstate;

	/* restorer, flags, link, stack, then 23 registers: the last but one is fpstate */
	memcpy(&fpstate, image->data + 8 + 40 + 23 * 8, sizeof(fpstate));
	assert_int_equal(fpstate % 64, 0);
	assert_in_range(fpstate, image->address, image->address + image->bytes);
	*ret_state = image->data + (fpstate - image->address);
	memcpy(&software, *ret_state + SOFTWARE, sizeof(software));
	return software;
}

static void assert_framed(const struct software *software, const uint8_t *state)
{
	uint32_t magic2;

	memcpy(&magic2, state + software->bytes, sizeof(magic2));
	assert_int_equal(software->magic1, 0x46505853);
	assert_int_equal(magic2, 0x46505845);
	assert_int_equal(software->extended_size, software->bytes + 4);
}

static void tiles_in_use_stay(void **state)
{
	static struct frame_image image;
	uint64_t features = 7 | 1ull << 17 | 1ull << TILE_DATA;
	const uint8_t *bytes;
	struct software software;

	(void)state;
	build(features, features, &image);
	software = software_of(&image, &bytes);
	assert_framed(&software, bytes);
	assert_int_equal(software.bytes, ALL_BYTES);
	assert_int_equal(software.features, features);
}

/* A process that never asked for tiles may not even have a frame with room for them. */
static void idle_tiles_go(void **state)
{
	static struct frame_image image;
	uint64_t features = 7 | 1ull << TILE_DATA;
	unsigned int size = 0, offset = 0, c, d;
	const uint8_t *bytes;
	struct software software;

	(void)state;
	build(features, 7, &image);
	software = software_of(&image, &bytes);
	assert_framed(&software, bytes);
	assert_int_equal(software.features, 7);
	/* AVX, feature 2, is the last that is left */
	(void)__get_cpuid_count(0xd, 2, &size, &offset, &c, &d);
	assert_int_equal(software.bytes, size ? size + offset : HEADER + 64);
}

static void selectors_are_known(void **state)
{
	static struct frame_image image;
	bool found = false;

	(void)state;
	build(7, 7, &image);
	for (size_t at = FRAME_SELECTORS_AFTER_SP; at + 8 <= 8 + 40 + 256; at += 8) {
		uint64_t word, sp;

		memcpy(&word, image.data + at, sizeof(word));
		if (!frame_is_selectors(word))
			continue;
		memcpy(&sp, image.data + at - FRAME_SELECTORS_AFTER_SP, sizeof(sp));
		assert_int_equal(sp, 0x7ffff0001238);
		assert_false(found);
		found = true;
	}
	assert_true(found);
	assert_false(frame_is_selectors(0x33));
}

/* Where it was written, in what was read from there; below it another one, then none. */
static void a_frame_is_found(void **state)
{
	static struct frame_image first, second;
	static uint8_t bytes[65536];
	const uint64_t below = 0x7ffff0001238, low = below - sizeof(bytes);
	uint8_t *magic;
	uint64_t at;

	(void)state;
	build(7, 7, &first);
	assert_int_equal(frame_find(bytes, low, below), 0);
	memcpy(bytes + (first.address - low), first.data, first.bytes);
	assert_int_equal(frame_find(bytes, low, below), first.address);
	assert_int_equal(frame_find(bytes, low, below - 64), 0);
	assert_int_equal(frame_find(bytes, low, first.address), 0);
	build_below(first.address, 7, 7, &second);
	memcpy(bytes + (second.address - low), second.data, second.bytes);
	assert_int_equal(frame_find(bytes, low, first.address), second.address);
	assert_int_equal(frame_find(bytes + (first.address - low), first.address, below),
			 first.address);
	at = first.address + 8;	/* not all of it */
	assert_int_equal(frame_find(bytes + (at - low), at, below), 0);
	magic = bytes + (first.address - low) + 8;
	(*magic)++;	/* uc_flags */
	assert_int_equal(frame_find(bytes, low, below), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiles_in_use_stay),
		cmocka_unit_test(idle_tiles_go),
		cmocka_unit_test(selectors_are_known),
		cmocka_unit_test(a_frame_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
