#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost in programs of musl's libc, dynamic and static, of one thread and of many: it
# equals the victim's own book, block by block, kind by kind, to the byte, with nothing watched.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3 musl-gcc

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

# look PROGRAM KINDS: before and after they are built.
look() {
	what="$1 $2"
	victim leaky "$1" "--kind=$2"
	attach -p "$VICTIM" --leaks -d 0 --json
	expect "$STATUS" 0 "$what: exit status before anything was built"
	cp "$REPORT" "$WORK/before.json"
	tell leaky b
	answer leaky built
	pristine_take "$VICTIM"
	for _ in 1 2 3 4 5; do
		attach -p "$VICTIM" --leaks -d 0 --json
		grep -q 'at work in every picture' "$ERRORS" || break
	done
	pristine_check "$VICTIM"
	json_expect '[.leaks.heaps[].allocator] | join(" ")' musl
	case $2 in *busy*) busy=--busy ;; *) busy= ;; esac
	if python3 "$E2E/check_leaks.py" "$WORK/leaky.out" "$REPORT" \
		--before="$WORK/before.json" $busy >"$WORK/compared" 2>&1; then
		note "$what: $(tail -n 1 "$WORK/compared")"
	else
		note "WRONG: $what: $(cat "$WORK/compared")"
		wrong=$((wrong + 1))
	fi
	ended leaky
}

# The kinds so marked in the list.
marked() {
	sed -n "s/^$1 //p" "$WORK/leaky.out" | grep -vxE "$excluded"
}

# list PROGRAM: sets ALL, kinds separated by commas, and ALONE, those that must be.
list() {
	victim leaky "$1"
	tell leaky l
	answer leaky listed
	ALL=$(marked kind | grep -vxE "$apart" | paste -sd , -)
	ALONE="$(marked alone) $(marked kind | grep -xE "$apart")"
	ended leaky
}

wrong=0
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
			look $program "$kind"
		done
	done
done
expect "$wrong" 0 "comparisons that failed"
