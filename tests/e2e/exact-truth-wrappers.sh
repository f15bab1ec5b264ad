#!/bin/sh
# SPDX-License-Identifier: MIT
# Allocators that hand their calls on to another one are one allocator: exact sessions and counts
# equal the truth, with no double free, under wrappers that jump, call, put a header in front of
# blocks and allocate for themselves, and under several of them at once.
# shellcheck disable=SC2034 # VICTIM_SELF is lib.sh's
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/counts_lib.sh"
needs jq python3 "${CC%% *}"

# wrapper NAME MACRO: builds it as NAME.so.
wrapper() {
	$CC -w -std=gnu11 -O2 -fno-builtin -shared -fPIC -D"$2" -o "$WORK/$1.so" \
		"$SRCDIR/tests/victims/wrapper.c" -ldl || fail "no wrapper $1"
}
wrapper jumps WRAPPER_JUMPS
wrapper jumps2 WRAPPER_JUMPS
wrapper calls WRAPPER_CALLS
wrapper header WRAPPER_HEADER
wrapper header2 WRAPPER_HEADER

# Each function by its name, so many times; "called ALLOCATIONS FREES BYTES".
cat >"$WORK/calls.c" <<'END'
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 200 };
static void *kept[5 * TURNS];
static unsigned long allocations, frees, bytes;

static void took(void **place, void *block, size_t size)
{
	if (!block)
		abort();
	*place = block;
	allocations++;
	bytes += size;
}

static void work(void)
{
	void **k = kept;

	for (int i = 0; i < TURNS; i++, k += 5) {
		took(&k[0], malloc(100), 100);
		took(&k[1], calloc(3, 50), 150);
		took(&k[2], memalign(64, 300), 300);
		took(&k[3], aligned_alloc(128, 256), 256);
		if (posix_memalign(&k[4], 256, 500) != 0)
			abort();
		took(&k[4], k[4], 500);
		took(&k[0], realloc(k[0], 2000), 2000);
		frees++;
		for (int j = 0; j < 5 && i % 2; j++, frees++)
			free(k[j]);
	}
}

int main(void)
{
	char command, text[80];

	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &command, 1) == 1 && command != 'q') {
		work();
		snprintf(text, sizeof(text), "called %lu %lu %lu\n", allocations, frees, bytes);
		if (write(1, text, strlen(text)) < 0)
			return 1;
	}
	return 0;
}
END
$CC -w -std=gnu11 -O1 -fno-builtin -o "$WORK/calls" "$WORK/calls.c" || fail "no test program"

# started NAME WRAPPERS PROGRAM...: with the wrappers preloaded, until it is ready.
started() {
	name=$1 preload=
	for one in $2; do preload="$preload $WORK/$one.so"; done
	shift 2
	background "$name" env LD_PRELOAD="$preload" "$@"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/$name.out" || fail "not ready: $(cat "$WORK/$name.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/$name.out")
}

# calls WRAPPERS OPTIONS...
calls() {
	note "$*"
	wrappers=$1
	shift
	started calls "$wrappers" "$WORK/calls"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	tell calls g
	await 60 grep -q '^called' "$WORK/calls.out" || fail "no answer: $(cat "$WORK/calls.err")"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^called //p' "$WORK/calls.out")
	json_expect .totals.alloc_count "$1"
	json_expect .totals.free_count "$2"
	json_expect .totals.alloc_bytes "$3"
	json_expect '.wrong_frees // [] | length' 0
	ended calls
}

for each in jumps "header jumps" "jumps header2 calls header jumps2"; do
	# shellcheck disable=SC2086 # EXACT is several words
	calls "$each" $EXACT
	json_expect .totals.free_unknown_count 0
	calls "$each" --counts=histogram
done
calls "jumps header calls" --exact --loader=map

# Threads that free each other's blocks, each by its whole stack.
for each in "header calls jumps"; do
	note "threads, $each"
	started truth "$each" "$VICTIMS/truth_threads" --threads=3 --rounds=1500
	exact_session truth truth_threads
	ended truth
done
