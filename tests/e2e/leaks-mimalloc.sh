#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost in programs that run with mimalloc, preloaded or linked, from before the attach: it
# equals the victim's own book, block by block, kind by kind, to the byte; and watched, for
# blocks that are wanted aligned, whose place in mimalloc's blocks only a watch can know.
# tcmalloc, which can't be walked, is named as not covered.
TEST_LIMIT=${TEST_LIMIT:-400}
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}"
. "$E2E/leaky.sh"

library=$(find /usr/lib /usr/lib64 -name 'libmimalloc.so.2*' 2>/dev/null | sort | head -n 1)
[ -n "$library" ] || skip "libmimalloc is not installed"
is_known_mimalloc "$library" || skip "libmimalloc is not 2.0.9"

sources=$SRCDIR/tests/victims
built_victims=$VICTIMS
VICTIMS=$WORK

compile() {
	compile_name=$1
	shift
	$CC -std=gnu11 -D_GNU_SOURCE -g -O2 -w -I"$SRCDIR" -pthread -o "$WORK/$compile_name" \
		"$@" -ldl || fail "can't build $compile_name"
}

# start PROGRAM [OPTION]...: with mimalloc.
start() {
	export LD_PRELOAD="$preload"
	[ -n "$preload" ] || unset LD_PRELOAD
	victim leaky "$@"
	unset LD_PRELOAD
}

# look PROGRAM KINDS [--begins]
look() {
	what="$1 $2${preload:+, preloaded}"
	start "$1" "--kind=$2"
	shift 2
	leaky_look mimalloc --by-size "$@"
	json_expect '.leaks.heaps[0].version' 2.0.9
	ended leaky
}

# watch PROGRAM KIND
watch() {
	what="$1 $2, watched"
	start "$1" "--kind=$2"
	leaky_watched --by-size
	ended leaky
}

# kinds PROGRAM WORD: those so marked, but for those whose blocks are wanted aligned.
kinds() {
	start "$1"
	leaky_kinds "$2" "$aligned" | paste -sd , -
	ended leaky
}

look_at_each() {
	for kind in $(echo "$2" | tr , ' '); do
		dealt 16 || continue
		look "$1" "$kind"
	done
}

try_victims() {
	for program in leaky leaky_mimalloc; do
		all=$(kinds $program kind) || fail "$all"
		look $program "$all"
		alone=$(kinds $program alone) || fail "$alone"
		look_at_each $program "$alone"
	done
	# of cycles the block with the lowest address leads: the first, when nothing was before
	all=$(kinds leaky_cxx kind) || fail "$all"
	look_at_each leaky_cxx "$all"
	for kind in huge allocators mapped pvalloc; do
		dealt 2 || continue
		look leaky $kind --begins
	done
	look leaky_mimalloc aligned --begins
	# not leaky_mimalloc aligned: what stands before an aligned pointer may be a leftover
	# link to the next block of the page, which then looks reachable (docs/LEAKS.md, 9)
	watch leaky huge
}

# Memory in one piece from the start; none given back, or all at once; none taken beforehand.
try_options() {
	for option in MIMALLOC_RESERVE_OS_MEMORY=512MiB MIMALLOC_ALLOW_DECOMMIT=0 \
		MIMALLOC_DECOMMIT_DELAY=0 MIMALLOC_EAGER_COMMIT=0; do
		dealt 4 || continue
		note "$option"
		export "${option?}"
		look leaky_mimalloc "classes,segments,crossed,abandoned"
		unset "${option%%=*}"
	done
}

# Of another allocator nothing is claimed.
try_tcmalloc() {
	preload=$(find /usr/lib /usr/lib64 -name 'libtcmalloc_minimal.so.4' 2>/dev/null |
		sort | head -n 1)
	[ -n "$preload" ] || return 0
	start leaky --kind=chain
	leaky_build
	attach -p "$VICTIM" --leaks -d 0 --json
	json_expect .leaks.covers_older_blocks false
	json_expect '.leaks.heaps[] | select(.allocator == "tcmalloc") | .covered' false
	ended leaky
}

aligned='huge|allocators|mapped|pvalloc|aligned'
# sizes that are classes of no other block, for one that must have nothing behind its end
compile leaky '-DEXACT(n)=((n) * 128)' "$sources/leaky.c" \
	"$sources/leaky_heaps.c" "$sources/leaky_threads.c" "$sources/leaky_book.c" \
	"$sources/victim.c"
compile leaky_mimalloc -DLEAKY_BLOCKS=120000 "$sources/leaky_mimalloc.c" \
	"$sources/leaky_book.c" "$sources/victim.c"
compile leaky_plug.so -shared -fPIC "$sources/leaky_plug.c"
cp "$built_victims/leaky_cxx" "$WORK"
preload=$library
try_victims
try_options
compile leaky_mimalloc -DLEAKY_BLOCKS=120000 "$sources/leaky_mimalloc.c" \
	"$sources/leaky_book.c" "$sources/victim.c" -Wl,--no-as-needed "$library"
preload=
look leaky_mimalloc "tiny,classes,segments,crossed,abandoned,heaps"
expect "$wrong" 0 "comparisons that failed"
try_tcmalloc
