#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost in programs of musl's libc, dynamic and static, of one thread and of many: it
# equals the victim's own book, block by block, kind by kind, to the byte, with nothing watched.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3 musl-gcc
. "$E2E/leaky.sh"

VICTIMS=$WORK
sources=$SRCDIR/tests/victims
# Not in musl: coroutines, and the last bytes of a block that were not asked for. A static program
# that has no signal handler is refused: there is no code in it that returns from one.
cat >"$WORK/missing.c" <<-'END'
	#include <signal.h>
	int getcontext(void *c) { return c ? -1 : 0; }
	void makecontext(void) {}
	int swapcontext(void) { return -1; }
	int (*sigaction_used)(int, const struct sigaction *, struct sigaction *) = sigaction;
END
excluded='coroutine|rounded_end|none'
# Their groups are as others', of which a report has too few examples to tell them apart.
apart=arenas

compile() {
	compile_name=$1
	shift
	musl-gcc -std=gnu11 -D_GNU_SOURCE -g -O2 -w -I"$SRCDIR" -pthread -o "$WORK/$compile_name" \
		"$@" || fail "musl-gcc can't build $compile_name"
}

# link NAME SOURCE...: both ways. Threads get a stack that is as large as glibc's victims need.
link() {
	link_name=$1
	shift
	set -- "$@" '-Dpvalloc(bytes)=valloc(bytes)' -DLEAKY_BLOCKS=120000 \
		-Wl,-z,stack-size=1048576 "$WORK/missing.c" "$sources/leaky_book.c" \
		"$sources/victim.c"
	compile "$link_name-dynamic" "$@"
	compile "$link_name-static" -static "$@"
}

look() {
	what="$1 $2"
	victim leaky "$1" "--kind=$2"
	leaky_look musl
	ended leaky
}

# list PROGRAM: sets ALL, kinds separated by commas, and ALONE, those that must be.
list() {
	victim leaky "$1"
	ALL=$(leaky_kinds kind "$excluded|$apart" | paste -sd , -)
	ALONE="$(leaky_kinds alone "$excluded") $(leaky_kinds kind "$excluded" | grep -xE "$apart")"
	ended leaky
}

link leaky "$sources/leaky.c" "$sources/leaky_heaps.c" "$sources/leaky_threads.c"
link leaky_musl "$sources/leaky_musl.c"
compile leaky_plug.so -shared -fPIC "$sources/leaky_plug.c"
for way in dynamic static; do
	# a static program opens no libraries
	[ $way = dynamic ] || excluded="$excluded|dlopen"
	for program in leaky-$way leaky_musl-$way; do
		list $program
		look $program "$ALL"
		for kind in $ALONE; do
			! dealt 4 || look $program "$kind"
		done
	done
done
expect "$wrong" 0 "comparisons that failed"
