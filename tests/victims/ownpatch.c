/* SPDX-License-Identifier: MIT */
/*
 * ownpatch.c - a program that patches a function of its own libc, as live patching does.
 *
 * It is one of those that nobody watches, in a page with one that is hooked. "where ok PAGE NAME",
 * or "where none", comes before "ready". 'p' patches, 'u' puts back what was there: "patch ok",
 * "undo ok". 'c' looks whether it is what it was left as: "check ok".
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/victims/victim.h"

enum { PAGE = 4096, ANSWER = 42, BYTES = 6 };

static const char *const hooked[] = { "calloc", "malloc", "free", "realloc", "memalign",
				      "posix_memalign", "aligned_alloc", "valloc", "pvalloc" };
static const char *const others[] = { "malloc_usable_size", "malloc_trim", "mallinfo", "mallinfo2",
				      "malloc_info", "malloc_stats", "mallopt" };
/* mov $ANSWER, %eax; ret */
static const uint8_t patch[BYTES] = { 0xb8, ANSWER, 0, 0, 0, 0xc3 };

static uint8_t *code, original[BYTES];
static bool patched;

static uintptr_t page_of(const void *address)
{
	return (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
}

static bool is_beside_hooked(const uint8_t *function)
{
	for (size_t i = 0; i < sizeof(hooked) / sizeof(*hooked); i++) {
		const void *entry = dlsym(RTLD_DEFAULT, hooked[i]);

		if (entry && page_of(entry) == page_of(function) &&
		    page_of(function + BYTES - 1) == page_of(function))
			return true;
	}
	return false;
}

static void find_code(void)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		code = dlsym(RTLD_DEFAULT, others[i]);
		if (!code || !is_beside_hooked(code))
			continue;
		memcpy(original, code, BYTES);
		victim_say("where ok %lx %s\n", (unsigned long)page_of(code), others[i]);
		return;
	}
	victim_say("where none\n");
}

static void write_code(const uint8_t *bytes)
{
	void *page = (void *)page_of(code);

	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		victim_fail("mprotect");
	memcpy(code, bytes, BYTES);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		victim_fail("mprotect");
	patched = bytes == patch;
}

static const char *check(void)
{
	int (*function)(void *) = (int (*)(void *))(uintptr_t)code;
	void *block;

	if (memcmp(code, patched ? patch : original, BYTES) != 0)
		return "the program's own bytes are gone";
	block = victim_seen(calloc(1, victim_size(300)));
	if (patched && function(block) != ANSWER)
		return "the program's own patch does not work";
	free(block);
	return "ok";
}

int main(void)
{
	char command;

	victim_setup();
	find_code();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'c') {
			victim_say("check %s\n", check());
		} else if (code && command == 'p') {
			write_code(patch);
			victim_say("patch ok\n");
		} else if (code && command == 'u') {
			write_code(original);
			victim_say("undo ok\n");
		}
	}
	return victim_interrupts() ? 1 : 0;
}
