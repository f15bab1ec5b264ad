#!/bin/sh
# SPDX-License-Identifier: MIT
# An allocator is hooked whole or not at all: where its free can't be, nothing of it is, no block
# seems lost, what is not hooked is named, and nothing says that every event was seen. Functions
# that begin with a call are hooked (TBB's operator new), and what was asked for is seen.
# shellcheck disable=SC2034 # VICTIM_SELF is lib.sh's
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}" "${CXX%% *}"

$CC -w -std=gnu11 -O1 -fno-builtin -shared -fPIC -o "$WORK/own_allocator.so" \
	"$SRCDIR/tests/victims/own_allocator.c" || fail "no allocator"
cat >"$WORK/blocks.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static char *volatile kept[2000];

int main()
{
	char command;

	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &command, 1) == 1 && command != 'q') {
		for (int i = 0; i < 2000; i++)
			kept[i] = command == 'n' ? new char[1000] : (char *)malloc(48);
		for (int i = 0; i < 500 && command == 'n'; i++)
			delete[] kept[i];
		for (int i = 0; i < 1000 && command == 'm'; i++)
			free(kept[i]), kept[i] = nullptr;
		if (write(1, "done\n", 5) < 0)
			return 1;
	}
	return 0;
}
END
$CXX -w -O1 -fno-builtin -o "$WORK/blocks" "$WORK/blocks.cc" || fail "no test program"

# session PRELOAD COMMAND OPTIONS...: the program with that library, attached, does its work.
session() {
	preload=$1 command=$2
	shift 2
	background blocks env LD_PRELOAD="$preload" "$WORK/blocks"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/blocks.out" || fail "not ready: $(cat "$WORK/blocks.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/blocks.out")
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" "$@"
	attach_await "$VICTIM"
	tell blocks "$command"
	await 60 grep -q '^done' "$WORK/blocks.out" || fail "no answer: $(cat "$WORK/blocks.err")"
	attach_end INT
	pristine_check "$VICTIM"
	ended blocks
}

note "an allocator of which free can't be hooked"
session "$WORK/own_allocator.so" m --exact --leaks --json
expect "$STATUS" 0 "exit status"
json_valid
json_expect '.target.allocators[0].name' other
json_expect '.target.allocators[0].hooked | length' 0
json_expect '.target.allocators[0].unhooked | map(startswith("free (own_allocator.so)")) | any' true
json_expect '.target.allocators[0].unhooked | length' 4
json_expect '.totals.double_free_count' null
json_expect '.totals.free_unknown_count' 0
json_expect '[.leaks.groups[]? | select(.verdict == "definitely lost")] | length' 0

note "the same as a text"
session "$WORK/own_allocator.so" m --exact --leaks
grep -q 'not hooked other is not seen' "$REPORT" || fail "not named: $(cat "$REPORT")"
grep -q 'free (own_allocator.so): ' "$REPORT" || fail "free is not named: $(cat "$REPORT")"
! grep -qi 'exact' "$REPORT" || fail "exact? $(grep -i exact "$REPORT")"
! grep -q 'Nothing lost, nothing suspect\.' "$REPORT" || fail "nothing lost? $(cat "$REPORT")"

note "an allocator that is loaded after the attach, and a library that has none"
cat >"$WORK/late.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *(*get)(size_t);
	void *library;
	char command;

	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &command, 1) == 1 && command != 'q') {
		library = dlopen(command == 'a' ? argv[1] : argv[2], RTLD_NOW | RTLD_LOCAL);
		get = (void *(*)(size_t))dlsym(library, "malloc");
		for (int i = 0; i < 100 && get; i++)
			*(char *volatile *)get(100) = NULL;
		if (write(1, "done\n", 5) < 0)
			return 1;
	}
	return 0;
}
END
$CC -w -O1 -fno-builtin -D_GNU_SOURCE -o "$WORK/late" "$WORK/late.c" -ldl || fail "no test program"
late() {
	background late "$WORK/late" "$WORK/own_allocator.so" libstdc++.so.6
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/late.out" || fail "not ready: $(cat "$WORK/late.err")"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --exact --json
	attach_await "$VICTIM"
	tell late "$1"
	await 60 grep -q '^done' "$WORK/late.out" || fail "no answer: $(cat "$WORK/late.err")"
	attach_end INT
	ended late
	expect "$STATUS" 0 "exit status"
	json_valid
}
late a
json_expect .session.partial true
json_expect '.target.allocators[] | select(.module | endswith("own_allocator.so")) | .unhooked |
	map(contains("loaded after the attach")) | any' true
late b
json_expect .session.partial false

note "two of them together"
session "$WORK/own_allocator.so" m --exact --leaks -o "$WORK/r.1"
session "$WORK/own_allocator.so" m --exact --leaks -o "$WORK/r.2"
"$MEMATTACH" report "$WORK/r.1" "$WORK/r.2" >"$REPORT" 2>"$ERRORS" || fail "report of two"
grep -q 'Nothing lost, nothing suspect in what was searched' "$REPORT" ||
	fail "of two: $(cat "$REPORT")"

note "one that a library has inside, without names"
jemalloc=$($CC -print-file-name=libjemalloc.a)
if [ "$jemalloc" != libjemalloc.a ] && [ -n "$(command -v objcopy)" ]; then
	for each in malloc calloc realloc free posix_memalign aligned_alloc memalign valloc \
		mallocx rallocx xallocx sallocx dallocx sdallocx nallocx mallctl mallctlnametomib \
		mallctlbymib malloc_usable_size malloc_stats_print; do
		echo "$each hidden_$each"
	done >"$WORK/names"
	objcopy --redefine-syms="$WORK/names" "$jemalloc" "$WORK/hidden.a" || fail "objcopy"
	cat >"$WORK/inside.c" <<-'END'
	void *hidden_malloc(unsigned long), hidden_free(void *);
	static void *volatile kept;
	__attribute__((constructor)) static void begin(void)
	{
		kept = hidden_malloc(100);
		hidden_free(kept);
	}
	END
	$CXX -w -x c -O1 -fPIC -shared -o "$WORK/inside.so" "$WORK/inside.c" -x none \
		"$WORK/hidden.a" -Wl,--exclude-libs,ALL -s -ldl -lpthread || fail "no library"
	session "$WORK/inside.so" m --exact --json
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .session.partial true
	json_expect '.target.allocators[] | select(.name == "jemalloc") | .unhooked[0]' \
		'all of jemalloc (inside.so): its functions have no names'
	session "$WORK/inside.so" m --exact
	grep -q 'not hooked jemalloc is not seen' "$REPORT" || fail "not named: $(cat "$REPORT")"
	! grep -q 'exact: ' "$REPORT" || fail "exact? $(grep exact "$REPORT")"
else
	note "no libjemalloc.a: left out"
fi
session "" m --exact --json
json_expect .session.partial false

# texts PARTIAL TEXT...: of a library.
texts() {
	note "$*"
	texts_partial=$1
	shift
	for each in "$@"; do
		echo "\"$each\","
	done >"$WORK/texts.h"
	echo "extern const char *const texts[]; const char *const texts[] = {
#include \"texts.h\"
};" >"$WORK/texts.c"
	$CC -w -O1 -fPIC -shared -o "$WORK/texts.so" "$WORK/texts.c" || fail "no library of texts"
	session "$WORK/texts.so" m --exact --json
	json_expect .session.partial "$texts_partial"
}
texts true 'mimalloc: %s' eager_commit
texts true 'MALLOC:   %d' '%s) Bytes in use by application'
texts false 'mimalloc: %s' 'MALLOC:   %d' background_thread
# CPython has one, which only some builds use
texts false 'mimalloc: %s' eager_commit PYTHONMALLOC
texts true 'mimalloc: %s' eager_commit PYTHONMALLOC 'experimental free-threading build'

tbb=$(find /usr/lib /usr/local/lib -name 'libtbbmalloc_proxy.so.2' 2>/dev/null | sort | head -n 1)
[ -n "$tbb" ] || skip "libtbbmalloc_proxy is not installed"
note "functions that begin with a call"
session "$tbb" n --exact --on-overflow=block --loader=dlopen --json
expect "$STATUS" 0 "exit status"
json_expect '.target.allocators[0].unhooked | length' 0
json_expect '.target.allocators[0].hooked | map(startswith("operator new[](size_t)")) | any' true
json_expect .totals.alloc_count 2000
json_expect .totals.alloc_bytes 2000000
json_expect .totals.free_count 500
json_expect .totals.free_unknown_count 0

note "by whichever loader: all of it is seen, or what is not is named"
session "$tbb" n --exact --on-overflow=block --json
json_expect '.totals.alloc_count == 2000 or (.target.allocators[0].unhooked | length) > 0' true
