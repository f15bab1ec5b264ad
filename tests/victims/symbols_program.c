/* SPDX-License-Identifier: MIT */
/*
 * symbols_program.c - symbols_program LIBRARY: the stacks of symbols_library.cc, for
 * docs/SYMBOLS.md.
 *
 * Prints each stack as "stack", its return addresses in the library as "return ADDRESS TEXT",
 * innermost first, TEXT from backtrace_symbols(), and the truth as "call FUNCTION LINE"; then for
 * each ADDRESS on its input "address ADDRESS TEXT". Addresses are the file's, hexadecimal.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/victims/symbols_library.h"

#define MAX_FRAMES 128

static uintptr_t base;	/* of the library */

static void print(const char *word, void *address)
{
	char **text = backtrace_symbols(&address, 1);

	printf("%s %#lx %s\n", word, (unsigned long)((uintptr_t)address - base),
	       text ? text[0] : "");
	free(text);
}

static void show(const struct symbols_call *call, size_t count)
{
	void *address[MAX_FRAMES];
	int frames = backtrace(address, MAX_FRAMES);

	puts("stack");
	for (int i = 0; i < frames; i++) {
		Dl_info info;

		if (dladdr(address[i], &info) && (uintptr_t)info.dli_fbase == base)
			print("return", address[i]);
	}
	while (count-- > 0)
		printf("call %s %u\n", call[count].function, call[count].line);
}

int main(int argc, char **argv)
{
	void (*run)(symbols_visitor *visit);
	unsigned long address;
	Dl_info info;
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (library)
		*(void **)&run = dlsym(library, "symbols_run");
	if (!library || !run || !dladdr(*(void **)&run, &info)) {
		fprintf(stderr, "symbols_program: %s\n", dlerror());
		return 1;
	}
	base = (uintptr_t)info.dli_fbase;
	run(show);
	while (scanf("%lx", &address) == 1)
		print("address", (void *)(base + address));
	return 0;
}
