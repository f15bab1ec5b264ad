#!/bin/sh
# SPDX-License-Identifier: MIT
# run: an illegal free is found whatever the address is and however early it comes, with a reason
# that agrees with what is there at that moment; also when the allocator ends the program right
# after. Nothing is called older than the attach: there was none. Other allocators' blocks lie
# elsewhere: of what is not known for certain nothing is said.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
static char global_bytes[256] __attribute__((aligned(16)));
static void *volatile kept[8];
static int resizes, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
__attribute__((noinline)) static void wrong(void *p)
{
	kept[0] = resizes ? realloc(p, 333) : (free(p), p);
}
static void *of_stack(void *unused)
{
	char bytes[256] __attribute__((aligned(16)));
	memset(bytes, 0, sizeof(bytes));
	kept[1] = bytes;
	wrong(bytes + 64);
	kept[1] = unused;
	return NULL;
}
static void of_deep_stack(void)
{
	char bytes[2000000];
	memset(bytes, 0, sizeof(bytes));
	kept[1] = bytes;
	wrong((char *)(((uintptr_t)bytes + 65536) & ~(uintptr_t)15));
	kept[1] = NULL;
}
static void *give(void *unused)
{
	(void)unused;
	return calloc(1, 200);
}
static void *in_thread(void *(*run)(void *))
{
	pthread_t thread;
	void *result;
	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, &result)) _exit(9);
	return result;
}
static char *map(int protection, int flags, int file)
{
	char *p = mmap(NULL, 65536, protection, flags, file, 0);
	return p == MAP_FAILED ? (_exit(9), NULL) : p;
}
static char *make(int i, size_t size)
{
	kept[i] = malloc(size);
	memset(kept[i], 0, size);
	return kept[i];
}
static void illegal(const char *how, char *program)
{
	const int both = PROT_READ | PROT_WRITE;
	char *p = make(2, 100), *q;
#define IS(name) (strcmp(how, name) == 0)
	if (IS("top")) wrong(p + 40000);
	if (IS("slack")) wrong(make(3, 10) + 16);
	if (IS("middle")) wrong(make(3, 4096) + 2048);
	if (IS("misaligned")) wrong(p + 40008);
	if (IS("odd")) wrong(p + 40004);
	if (IS("freed")) { q = make(3, 3000); make(4, 16); free(q); wrong(q + 1504); }
	if (IS("trimmed")) { q = make(3, 100000); free(make(4, 120000)); wrong(q + 250000); }
	if (IS("beyond")) wrong((char *)sbrk(0) + 65536);
	if (IS("large")) wrong(make(3, 1 << 20) + 65536);
	if (IS("large-freed")) { q = make(3, 1 << 20); free(q); wrong(q + 65536); }
	if (IS("arena")) wrong((char *)in_thread(give) + 40000);
	if (IS("stack")) of_stack(NULL);
	if (IS("deep-stack")) of_deep_stack();
	if (IS("thread-stack")) in_thread(of_stack);
	if (IS("global")) wrong(global_bytes + 64);
	if (IS("code")) wrong((void *)((uintptr_t)of_stack & ~(uintptr_t)15));
	if (IS("file")) wrong(map(both, MAP_PRIVATE, open(program, O_RDONLY)) + 64);
	if (IS("no-access")) wrong(map(PROT_NONE, anonymous, -1) + 64);
	if (IS("region")) wrong(map(both, anonymous, -1) + 64);
	if (IS("unmapped")) { q = map(both, anonymous, -1); munmap(q, 65536); wrong(q + 64); }
	if (IS("low")) wrong((void *)0x7000);
	if (IS("wild")) wrong((void *)0xdeadbeefdeadbee0);
}
int main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };
	if (argc < 3 || setrlimit(RLIMIT_CORE, &no_core)) return 8;
	resizes = argv[1][0] == 'r';
	illegal(argv[2], argv[0]);
	_exit(7);
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -w -pthread -o "$WORK/program" "$WORK/program.c" || fail "compiling"

library= one_in=3 heap_is_known=yes

is_illegal() {
	expect "$(json '[.wrong_frees[] | [.kind, .reason, .call, .count]] | @text')" \
		"[[\"illegal\",\"$illegal_reason\",\"$illegal_call\",1]]" \
		"$illegal_call, $how, ${library:-glibc}"
	json_expect .totals.illegal_free_count 1
	json_expect .totals.free_unknown_count 0
}

# In a heap that is not walked, and was mapped before the hooks were there, or where calls are not
# seen: a block that was not seen allocated may be there.
is_known() {
	[ "$(json .session.partial)" = false ] || return 1
	[ "$heap_is_known" = yes ] || [ "$illegal_reason" != free-memory ] ||
		[ "$(json .totals.free_unknown_count)" = 0 ]
}
is_unknown() {
	json_expect '.wrong_frees | length' 0
	json_expect .totals.free_unknown_count 1
	json_expect '.totals.illegal_free_count // 0' 0
}

# illegal CALL REASON HOW...: so it is, each time, whether the allocator notices or not.
illegal() {
	illegal_call=$1 illegal_reason=$2
	shift 2
	for how in "$@"; do
		dealt "$one_in" || continue
		rm -f "$WORK/recording"
		LD_PRELOAD=$library timeout 120 "$MEMATTACH" run $EXACT \
			-o "$WORK/recording" -- "$WORK/program" "$illegal_call" "$how" \
			>"$WORK/out" 2>"$ERRORS" </dev/null
		"$MEMATTACH" report --json "$WORK/recording" >"$REPORT" ||
			fail "no report of $how: $(cat "$ERRORS")"
		json_valid
		json_expect .session.started true
		if is_known; then is_illegal; else is_unknown; fi
		"$MEMATTACH" report "$WORK/recording" >"$WORK/text" || fail "report"
		! grep -n "the attach" "$WORK/text" || fail "there was no attach"
	done
}

# Where neither the heap nor its allocator is: the same for all.
elsewhere() {
	illegal free no-memory beyond unmapped low wild
	illegal free stack stack deep-stack thread-stack
	illegal free static-data global code
	illegal free not-allocated file no-access region
	illegal realloc no-memory unmapped low
	illegal realloc stack deep-stack thread-stack
	illegal realloc static-data global
}

with_glibc() {
	illegal free free-memory top freed arena
	illegal free inside-block slack middle large
	illegal free misaligned misaligned odd
	illegal free no-memory trimmed large-freed
	illegal realloc free-memory top arena
	illegal realloc inside-block middle
	elsewhere
}

# Blocks of 10 bytes have no slack there; what is freed stays with the allocator, for a while.
with_another() {
	illegal free free-memory top slack freed trimmed large-freed arena
	illegal free inside-block middle large
	illegal free misaligned odd
	illegal realloc free-memory top arena
	illegal realloc inside-block middle
	elsewhere
}

# Each time: whether the maps, or what was seen mapped, show the heap is a matter of moments.
with_glibc
turn=0
while [ "$turn" -lt "$(in_full 12 2)" ]; do
	turn=$((turn + 1))
	illegal free free-memory top
done
one_in=12 heap_is_known=no
for library in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc.so.4; do
	[ -z "$(LD_PRELOAD=$library true 2>&1)" ] || continue
	note "$library"
	with_another
done
