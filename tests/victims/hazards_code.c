/* SPDX-License-Identifier: MIT */
/*
 * hazards_code.c - code that no file describes, or whose file has gone: made at run time, with
 * and without frame pointers, again at the same place with another frame, unmapped and a
 * library's; libraries that were deleted; functions that are looked for when first called.
 */
#include "tests/victims/hazards.h"

#ifndef HAZARDS_NO_PLUGS
#include <dlfcn.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JIT_ROUNDS = 40, JIT_CALLS = 10, PLUG_ROUNDS = 8 };
#define JIT_BYTES 8192

/* Each calls the address at `target` and returns what that returns. */
struct jit_code {
	const char *bytes;
	size_t size, target;
};
#define CODE(bytes, target) { bytes, sizeof(bytes) - 1, target }
static const struct jit_code code[] = {
	/* push rbp; mov rsp,rbp; sub $64,rsp; movabs $target,rax; call *rax; leave; ret */
	CODE("\x55\x48\x89\xe5\x48\x83\xec\x40\x48\xb8" "01234567" "\xff\xd0\xc9\xc3", 10),
	/* the same, with $112 */
	CODE("\x55\x48\x89\xe5\x48\x83\xec\x70\x48\xb8" "01234567" "\xff\xd0\xc9\xc3", 10),
	/* sub $24,rsp; movabs; call *rax; add $24,rsp; ret: rbp is the caller's */
	CODE("\x48\x83\xec\x18\x48\xb8" "01234567" "\xff\xd0\x48\x83\xc4\x18\xc3", 6),
	/* push rbp; xor ebp,ebp; movabs; call *rax; pop rbp; ret: rbp is nobody's */
	CODE("\x55\x31\xed\x48\xb8" "01234567" "\xff\xd0\x5d\xc3", 5),
	/* push rbp; lea 3(rsp),rbp; movabs; call *rax; pop rbp; ret: an rbp that can be none */
	CODE("\x55\x48\x8d\x6c\x24\x03\x48\xb8" "01234567" "\xff\xd0\x5d\xc3", 8),
};
enum { CODES = sizeof(code) / sizeof(code[0]) };

VICTIM_FRAME static void *hazard_under_jit(size_t bytes)
{
	void *block = victim_seen(malloc(bytes + 50));

	HAZARD_ALLOC(bytes + 51);
	hazard_sink++;
	return block;
}

VICTIM_FRAME static void *hazard_over_jit(void *(*made)(size_t), int n)
{
	volatile char room[256];

	room[n] = 1;
	return victim_seen(made((size_t)n + room[n]));
}

static void *jit_make(char *at, const struct jit_code *kind, void *(*target)(size_t))
{
	memcpy(at, kind->bytes, kind->size);
	memcpy(at + kind->target, &target, sizeof(target));
	return at;
}

static char *jit_pages(void)
{
	static char *place;
	char *pages = mmap(place, JIT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		victim_fail("mmap of code");
	place = pages;
	return pages;
}

static void jit_calls(char *pages, int round)
{
	for (int i = 0; i < JIT_CALLS; i++) {
		const struct jit_code *kind = &code[(round + i) % CODES];
		void *(*inner)(size_t) = jit_make(pages, kind, hazard_under_jit);
		void *(*direct)(size_t) = jit_make(pages + 4096, kind, malloc);

		free(hazard_over_jit(inner, i));
		free(hazard_over_jit(direct, i));
	}
}

/* The pages go and come back now and then; what is made in them changes all the time. */
void hazard_jit(void)
{
	char *pages = jit_pages();

	for (int round = 0; round < JIT_ROUNDS; round++) {
		jit_calls(pages, round);
		if (round % 4 == 3) {
			munmap(pages, JIT_BYTES);
			pages = jit_pages();
		}
	}
	munmap(pages, JIT_BYTES);
	hazard_did("hazard_under_jit", 2 * JIT_ROUNDS * JIT_CALLS);
}

#ifndef HAZARDS_NO_PLUGS
/* Opened, deleted, used, closed. The first call of what it calls itself looks for that. */
static void plug_run(const char *directory, int number)
{
	unsigned long (*use)(int, unsigned long *);
	unsigned long resolved = 0;
	char file[4096];
	void *handle;

	snprintf(file, sizeof(file), "%s/plug%d.so", directory, number);
	handle = dlopen(file, RTLD_LAZY);
	use = handle ? (unsigned long (*)(int, unsigned long *))dlsym(handle, "hazard_plug_use") :
		       NULL;
	if (!use || unlink(file) < 0)
		victim_fail(file);
	hazard_did("hazard_from_plug", use(200, &resolved));
	hazard_did("hazard_resolver", resolved);
	dlclose(handle);
}

void hazard_plugs(const char *directory)
{
	for (int i = 0; i < PLUG_ROUNDS; i++)
		plug_run(directory, i);
}
#endif
