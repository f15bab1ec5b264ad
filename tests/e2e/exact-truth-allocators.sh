#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth under each preloaded allocator that is installed: threads that
# free each other's blocks, and one call of every entry point that the allocator has.
# shellcheck disable=SC2034 # VICTIM_SELF is lib.sh's
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}"

# library ALLOCATOR GLOB: its path, or nothing
library() {
	find /usr/lib /usr/local/lib -name "$1" 2>/dev/null | sort | head -n 1
}

# Each entry by its arguments. One block at a time; what failed or is not there is not counted.
# Left out: what is known not to be seen (see "left alone" of memattach check).
cat >"$WORK/entries.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 112, ALIGN = 16 };
typedef size_t word;
static const char *const size_names[] = { "malloc", "valloc", "pvalloc", "__libc_valloc",
	"__libc_pvalloc", "tc_malloc", "tc_valloc", "tc_pvalloc", "mi_malloc", "mi_zalloc",
	"mi_malloc_small", "mi_zalloc_small", "mi_valloc", "mi_pvalloc", "mi_new_nothrow",
	"_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "tc_new_nothrow", "mallocx", NULL };
static const char *const throwing_names[] = { "_Znwm", "_Znam", "tc_new", "tc_newarray", "mi_new",
	NULL };
static const char *const count_names[] = { "calloc", "tc_calloc", "mi_calloc", "mi_mallocn",
	NULL };
static const char *const align_first_names[] = { "memalign", "aligned_alloc", "__libc_memalign",
	"tc_memalign", "mi_memalign", "mi_aligned_alloc", NULL };
static const char *const align_last_names[] = { "_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t", "tc_new_aligned_nothrow", "mi_malloc_aligned",
	"mi_zalloc_aligned", "mi_new_aligned_nothrow", "_aligned_malloc", NULL };
static const char *const align_throwing_names[] = { "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
	"tc_new_aligned", "mi_new_aligned", NULL };
static const char *const posix_names[] = { "posix_memalign", "tc_posix_memalign",
	"mi_posix_memalign", "__posix_memalign", NULL };
static const char *const realloc_names[] = { "realloc", "tc_realloc", "mi_realloc", "mi_rezalloc",
	"rallocx", NULL };
static const char *const array_names[] = { "reallocarray", "mi_reallocn", "mi_recalloc", NULL };
static const char *const free_names[] = { "free", "cfree", "tc_free", "tc_cfree", "mi_free",
	"mi_cfree", "_ZdlPv", "_ZdaPv", "tc_delete", "dallocx", "_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t", NULL };
static const char *const free_size_names[] = { "_ZdlPvm", "_ZdaPvm", "tc_free_sized", "sdallocx",
	"mi_free_size", "tc_delete_sized", NULL };
static const char *const free_align_names[] = { "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t",
	"mi_free_aligned", "tc_delete_aligned", NULL };
static const char *const free_size_align_names[] = { "_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t", "mi_free_size_aligned", "tc_delete_sized_aligned", NULL };

enum { SIZES, COUNTS, ALIGN_FIRST, ALIGN_LAST, POSIX, REALLOC, ARRAY, FREE, FREE_SIZE, FREE_ALIGN,
       FREE_SIZE_ALIGN };
static struct { void *(*call)(); int kind; } calls[256];
static unsigned call_count, allocations, frees;

/* Only from the library that malloc is from: the others' blocks would be foreign to it. */
static void look_up(const char *const *names, int kind)
{
	Dl_info own, other;

	dladdr(dlsym(RTLD_DEFAULT, "malloc"), &own);
	for (; *names; names++) {
		void *call = dlsym(RTLD_DEFAULT, *names);

		if (!call || !dladdr(call, &other) || other.dli_fbase != own.dli_fbase)
			continue;
		calls[call_count].call = (void *(*)())call;
		calls[call_count++].kind = kind;
	}
}

static void call_one(unsigned i)
{
	void *(*volatile f)() = calls[i].call, *p = NULL;

	switch (calls[i].kind) {
	case SIZES: p = f((word)SIZE, NULL); break;
	case COUNTS: p = f((word)SIZE, (word)1); break;
	case ALIGN_FIRST: p = f((word)ALIGN, (word)SIZE); break;
	case ALIGN_LAST: p = f((word)SIZE, (word)ALIGN, NULL); break;
	case POSIX: f(&p, (word)ALIGN, (word)SIZE); break;
	default: p = malloc(SIZE); break;
	}
	if (!p)
		return;
	allocations++;
	frees++;
	switch (calls[i].kind) {
	case REALLOC: p = f(p, (word)(1 << 20), 0); allocations++; frees++; free(p); break;
	case ARRAY: p = f(p, (word)(1 << 10), (word)1024); allocations++; frees++; free(p); break;
	case FREE: f(p, NULL); break;
	case FREE_SIZE: f(p, (word)SIZE, NULL); break;
	case FREE_ALIGN: f(p, (word)ALIGN, NULL); break;
	case FREE_SIZE_ALIGN: f(p, (word)SIZE, (word)ALIGN, NULL); break;
	default: free(p); break;
	}
}

int main(int argc, char **argv)
{
	static char text[64];
	char command;

	(void)argv;
	look_up(size_names, SIZES);
	look_up(count_names, COUNTS);
	look_up(align_first_names, ALIGN_FIRST);
	look_up(align_last_names, ALIGN_LAST);
	if (argc == 1) {
		look_up(throwing_names, SIZES);
		look_up(align_throwing_names, ALIGN_LAST);
	}
	look_up(posix_names, POSIX);
	look_up(realloc_names, REALLOC);
	look_up(array_names, ARRAY);
	look_up(free_names, FREE);
	look_up(free_size_names, FREE_SIZE);
	look_up(free_align_names, FREE_ALIGN);
	look_up(free_size_align_names, FREE_SIZE_ALIGN);
	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &command, 1) == 1 && command != 'q') {
		for (unsigned i = 0; i < call_count; i++)
			call_one(i);
		snprintf(text, sizeof(text), "called %u %u\n", allocations, frees);
		if (write(1, text, strlen(text)) < 0)
			return 1;
	}
	return 0;
}
END
$CC -w -std=gnu11 -O1 -fno-builtin -o "$WORK/entries" "$WORK/entries.c" -ldl ||
	fail "no test program"

# started NAME LIBRARY PROGRAM...: with the library preloaded, until it is ready.
started() {
	name=$1 preload=$2
	shift 2
	background "$name" env LD_PRELOAD="$preload" "$@"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/$name.out" || fail "not ready: $(cat "$WORK/$name.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/$name.out")
}

# says ALLOCATOR LOADER: the report names both.
says() {
	json_expect .session.loader "$2"
	json '.target.allocators[].name' | grep -qx "$1" ||
		fail "$1 is not among the allocators: $(json .target.allocators)"
}

# threads ALLOCATOR LIBRARY LOADER
threads() {
	dealt 2 || return 0
	note "$1, threads, $3"
	started truth "$2" "$VICTIMS/truth_threads" --threads=3 --rounds=1500
	exact_session truth truth_threads --loader="$3"
	says "$1" "$3"
	ended truth
}

# entries ALLOCATOR LIBRARY LOADER [no-throw]: the map loader leaves alone what throws.
entries() {
	dealt 2 || return 0
	allocator=$1 loader=$3
	note "$1, entries, $3"
	started entries "$2" "$WORK/entries" ${4:+"$4"}
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json --loader="$loader"
	attach_await "$VICTIM"
	tell entries g
	await 60 grep -q '^called' "$WORK/entries.out" ||
		fail "no answer: $(cat "$WORK/entries.err")"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	says "$allocator" "$loader"
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^called //p' "$WORK/entries.out")
	json_expect .totals.alloc_count "$1"
	json_expect .totals.free_count "$2"
	json_expect .totals.free_unknown_count 0
	json_expect .totals.live_count 0
	ended entries
}

seen=0
for each in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 \
	mimalloc:libmimalloc.so.2.0; do
	path=$(library "${each#*:}")
	[ -n "$path" ] || { note "${each%%:*} is not installed"; continue; }
	for loader in dlopen map; do
		threads "${each%%:*}" "$path" "$loader"
	done
	entries "${each%%:*}" "$path" dlopen
	entries "${each%%:*}" "$path" map no-throw
	seen=$((seen + 1))
done
[ "$seen" -gt 0 ] || skip "no other allocator is installed"
