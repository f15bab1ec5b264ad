/* SPDX-License-Identifier: MIT */
/*
 * preflight_runtimes.c - runtimes under which a program can't be watched, by what they map.
 *
 * Sanitizers and emulators stand between the program and its memory: malloc is theirs.
 *
 * Go runs its code on stacks of its own, which move, have no thread pointer above them, and
 * of which only Go's own tables tell where they end. A thread that is parked on one, as a
 * system call of a goroutine leaves it, can't be proven to be outside the shim, however it is
 * looked at: memattach could enter by the C part of such a program (cgo), and not leave. Go's
 * own profiler sees Go's memory; nobody sees the C part's. By file names or sections a Go
 * library in a C program would not be found, nor a stripped program: the heap is, which Go
 * puts at one address.
 */
#include "inject/preflight/preflight_checks.h"

#include <string.h>

/* File names (beginnings of their last part) of what already stands between program and memory. */
static const struct {
	const char *prefix, *name;
} instruments[] = {
	{ "libasan.so", "AddressSanitizer" },
	{ "libhwasan.so", "HWAddressSanitizer" },
	{ "libtsan.so", "ThreadSanitizer" },
	{ "libmsan.so", "MemorySanitizer" },
	{ "liblsan.so", "LeakSanitizer" },
	{ "libclang_rt.asan", "AddressSanitizer" },
	{ "libclang_rt.hwasan", "HWAddressSanitizer" },
	{ "libclang_rt.tsan", "ThreadSanitizer" },
	{ "vgpreload_", "valgrind" },
	{ "librrpreload", "rr" },
	{ "libdynamorio.so", "DynamoRIO" },
	{ "qemu-", "qemu-user" },
};

/* Of the same name, and programs like others: whole machines, and what serves them. */
static const char *const qemu_programs[] = {
	"qemu-system-", "qemu-kvm", "qemu-ga", "qemu-storage-daemon", "qemu-nbd", "qemu-img",
	"qemu-io", "qemu-pr-helper", "qemu-bridge-helper",
};

/* AddressSanitizer linked statically (clang's default) has its shadow at this fixed place. */
#define ASAN_SHADOW_START 0x7fff7000u

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_exempt(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(qemu_programs); i++) {
		if (begins_with(name, qemu_programs[i]))
			return true;
	}
	return false;
}

static const char *instrument_of(const struct procmap *map)
{
	const char *slash = strrchr(map->path, '/');

	if (map->inode == 0 && map->start == ASAN_SHADOW_START)
		return "AddressSanitizer";
	for (size_t i = 0; slash && i < ARRAY_SIZE(instruments); i++) {
		/* Only code counts: an emulator may map any file as data. */
		if ((map->prot & PROCMAP_X) && begins_with(slash + 1, instruments[i].prefix) &&
		    !is_exempt(slash + 1))
			return instruments[i].name;
	}
	return NULL;
}

int preflight_check_instrumented(struct preflight *p)
{
	const char *name = NULL;

	for (size_t i = 0; i < p->maps.count && !name; i++)
		name = instrument_of(&p->maps.map[i]);
	if (!name)
		return 0;
	preflight_reason(p, PREFLIGHT_INSTRUMENTED, "process %d (%s) runs under %s", (int)p->pid,
			 p->status.name, name);
	return preflight_remedy(p, "start it without %s, which replaces malloc itself", name);
}

/*
 * The first arena that Go asks for (runtime.mallocinit, linux/amd64: 0x00c0 << 32); the kernel
 * puts nothing there by itself.
 */
#define GO_ARENA_START 0xc000000000ull

int preflight_check_go(struct preflight *p)
{
	const struct procmap *map = procmaps_find(&p->maps, GO_ARENA_START);

	if (p->options->expect_attached)
		return 0;	/* it came to be Go after somebody entered: out again */
	if (!map || map->start != GO_ARENA_START || map->inode != 0)
		return 0;
	preflight_reason(p, PREFLIGHT_GO,
			 "process %d (%s) has the Go runtime: no thread that is parked on a Go "
			 "stack could be proven to have left the shim",
			 (int)p->pid, p->status.name);
	return preflight_remedy(p, "ask Go's own heap profile: net/http/pprof, go tool pprof");
}
