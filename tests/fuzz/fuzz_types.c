/* SPDX-License-Identifier: MIT */
/*
 * fuzz_types.c - forged vtables, typeinfos and class names.
 *
 * Every word of the library's data is tried as a vtable. Names must be printable; unchanged, the
 * class of an object is found.
 */
#include <stdlib.h>
#include <string.h>

#include "src/debuginfo/types.h"
#include "tests/fuzz/fuzz_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	for (; name && *name; name++)
		if (*name < ' ' || *name > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process process;
	struct types *types;
	const char *name;

	process_open(&process, data, size);
	if (types_new(&process.lab.picture, process.lab.modules, &types) < 0)
		abort();
	name = types_of(types, PROCESS_OBJECTS, 64);
	if (size == 0 && (!name || strcmp(name, "node") != 0))
		abort();
	for (unsigned int i = 0; i < 4; i++)
		check_name(types_of(types, PROCESS_OBJECTS + i * 64, 64));
	for (uint64_t at = PROCESS_DATA; at < PROCESS_DATA + 0x400; at += 8)
		check_name(types_of_vtable(types, at));
	types_free(types);
	process_close(&process);
	return 0;
}
