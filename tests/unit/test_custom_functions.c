/* SPDX-License-Identifier: MIT */
/* test_custom_functions.c - what --alloc-fn, --realloc-fn and --free-fn take, and what not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/plan/custom_functions.h"

static void expect(enum ring_shape shape, const char *text, const char *name, uint64_t address,
		   struct ring_arguments arguments)
{
	struct custom_function f;

	assert_null(custom_function_parse(shape, text, &f));
	assert_int_equal(f.shape, shape);
	assert_string_equal(f.name, name);
	assert_true(f.address == address);
	assert_int_equal(ring_arguments_pack(f.arguments), ring_arguments_pack(arguments));
}

static void usual_places(void **state)
{
	(void)state;
	expect(RING_SHAPE_CUSTOM_ALLOC, "get", "get", 0, (struct ring_arguments){ .size = 1 });
	expect(RING_SHAPE_CUSTOM_REALLOC, "resize", "resize", 0,
	       (struct ring_arguments){ .block = 1, .size = 2 });
	expect(RING_SHAPE_CUSTOM_FREE, "put", "put", 0, (struct ring_arguments){ .block = 1 });
}

static void given_places(void **state)
{
	(void)state;
	expect(RING_SHAPE_CUSTOM_ALLOC, "_ZN4pool3getEm:2", "_ZN4pool3getEm", 0,
	       (struct ring_arguments){ .size = 2 });
	expect(RING_SHAPE_CUSTOM_ALLOC, "get:6*1", "get", 0,
	       (struct ring_arguments){ .size = 6, .count = 1 });
	expect(RING_SHAPE_CUSTOM_REALLOC, "resize:3,4", "resize", 0,
	       (struct ring_arguments){ .block = 3, .size = 4 });
	expect(RING_SHAPE_CUSTOM_REALLOC, "resize:3,4*5", "resize", 0,
	       (struct ring_arguments){ .block = 3, .size = 4, .count = 5 });
	expect(RING_SHAPE_CUSTOM_FREE, "0x55d0c8a41270:2", "0x55d0c8a41270", 0x55d0c8a41270,
	       (struct ring_arguments){ .block = 2 });
}

static void wrong_ones(void **state)
{
	static const struct {
		enum ring_shape shape;
		const char *text;
	} wrong[] = {
		{ RING_SHAPE_CUSTOM_ALLOC, "" }, { RING_SHAPE_CUSTOM_ALLOC, ":1" },
		{ RING_SHAPE_CUSTOM_ALLOC, "get:" }, { RING_SHAPE_CUSTOM_ALLOC, "get:0" },
		{ RING_SHAPE_CUSTOM_ALLOC, "get:7" }, { RING_SHAPE_CUSTOM_ALLOC, "get:12" },
		{ RING_SHAPE_CUSTOM_ALLOC, "get:1*" }, { RING_SHAPE_CUSTOM_ALLOC, "get:1*7" },
		{ RING_SHAPE_CUSTOM_ALLOC, "get:1,2" }, { RING_SHAPE_CUSTOM_ALLOC, "get:1:2" },
		{ RING_SHAPE_CUSTOM_ALLOC, "0x" }, { RING_SHAPE_CUSTOM_ALLOC, "0x0" },
		{ RING_SHAPE_CUSTOM_ALLOC, "0x12g" },
		{ RING_SHAPE_CUSTOM_ALLOC, "0x11112222333344445" },
		{ RING_SHAPE_CUSTOM_REALLOC, "resize:1" }, { RING_SHAPE_CUSTOM_REALLOC, "r:1," },
		{ RING_SHAPE_CUSTOM_REALLOC, "r:,2" }, { RING_SHAPE_CUSTOM_REALLOC, "r:1*2" },
		{ RING_SHAPE_CUSTOM_FREE, "put:1*2" }, { RING_SHAPE_CUSTOM_FREE, "put:1,2" },
		{ RING_SHAPE_CUSTOM_FREE, "put:x" },
	};
	struct custom_function f;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!custom_function_parse(wrong[i].shape, wrong[i].text, &f))
			fail_msg("'%s' was taken", wrong[i].text);
}

/* As long as a name of the table of symbols, and one byte longer. */
static void long_names(void **state)
{
	char name[SYMTAB_NAME_BYTES + 1];
	struct custom_function f;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[SYMTAB_NAME_BYTES - 1] = '\0';
	assert_null(custom_function_parse(RING_SHAPE_CUSTOM_ALLOC, name, &f));
	assert_string_equal(f.name, name);
	name[SYMTAB_NAME_BYTES - 1] = 'n';
	name[SYMTAB_NAME_BYTES] = '\0';
	assert_non_null(custom_function_parse(RING_SHAPE_CUSTOM_ALLOC, name, &f));
}

/* What blocks are called: apart from all addresses, apart from each other, and back. */
static void names_of_blocks(void **state)
{
	static const uint64_t address[] = { 1, 0x1000, 0x7fffffffffff };

	(void)state;
	assert_true(ring_custom_block(0) == 0);
	assert_true(ring_custom_block(1ull << 47) == 0);
	for (size_t i = 0; i < 3; i++) {
		uint64_t block = ring_custom_block(address[i]);

		assert_true(block < RING_SIZE_LIMIT && block >= 1ull << 47 && block % 16 == 0);
		assert_true(ring_block_address(block) == address[i]);
		assert_true(ring_block_address(address[i]) == address[i]);
		assert_true(i == 0 || ring_custom_block(address[i] - 1) >> 4 != block >> 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_places),
		cmocka_unit_test(given_places),
		cmocka_unit_test(wrong_ones),
		cmocka_unit_test(long_names),
		cmocka_unit_test(names_of_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
