#!/bin/sh
# SPDX-License-Identifier: MIT
# Live blocks of a victim under real libcs of other versions, against its own book of them:
#
#	libc_versions.sh [DIR [SCENARIO...]]
#
# DIR holds unpacked libcs; without one, LIBCS may name it, or fetch_libcs.sh makes it in BUILDDIR.
# The victim is linked with each of them, and run by its loader. Environment: HEAP_CHECK the program
# of heap_check.c, CC, SRCDIR, BUILDDIR, TORN. Prints a line a run, and in the end how many of them
# agree for each libc. Exit status 1 if any does not agree, 77 no libcs.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${HEAP_CHECK:=$BUILDDIR/tests/tools/heap_check}"
: "${CC:=cc}"
: "${TORN:=100}"	# pictures of a victim that never stands still

LIBCS=${1:-${LIBCS:-}}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- single mix arenas pieces gaps fast heaps edges mapped padded forked \
	busy lonely
if [ -z "$LIBCS" ]; then
	LIBCS=$BUILDDIR/libcs
	sh "$SRCDIR/tests/leak/fetch_libcs.sh" "$LIBCS" || exit
fi
[ -d "$LIBCS" ] || { echo "SKIP: no folder of libcs"; exit 77; }
[ -x "$HEAP_CHECK" ] || { echo "no $HEAP_CHECK"; exit 99; }

WORK=$(mktemp -d "${TMPDIR:-/tmp}/memattach-versions.XXXXXX") || exit 99
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT PIPE TERM
STATUS=77

# Tunables with which the heap looks different; a libc that doesn't know one ignores it.
TUNABLES="glibc.malloc.hugetlb=1 glibc.malloc.hugetlb=2 glibc.malloc.tcache_count=0
glibc.malloc.tcache_count=200:glibc.malloc.tcache_max=4000000:glibc.malloc.mmap_threshold=200000
glibc.malloc.arena_max=1:glibc.malloc.perturb=85 glibc.mem.decorate_maps=1"

# link FOLDER: the victim for the libc in it.
link() {
	pthread=$1/libpthread.so.0
	[ -e "$pthread" ] || pthread=
	# shellcheck disable=SC2086
	$CC -std=gnu11 -D_GNU_SOURCE -O2 -I"$SRCDIR" -nodefaultlibs \
		-o "$WORK/victim" "$SRCDIR/tests/victims/leak_heap.c" $pthread "$1/libc.so.6" \
		"$1/ld-linux-x86-64.so.2" -lgcc -Wl,--allow-shlib-undefined
}

# check VERSION FOLDER SCENARIO
check() {
	options=
	case $3 in
	busy | lonely) options=--torn=$TORN ;;
	esac
	printf '%s %s %s: ' "$1" "$3" "${GLIBC_TUNABLES:-}"
	[ $STATUS -ne 77 ] || STATUS=0
	runs=$((runs + 1))
	# shellcheck disable=SC2086
	if timeout -k 10 120 "$HEAP_CHECK" $options "$2/ld-linux-x86-64.so.2" --library-path "$2" \
		"$WORK/victim" "$3"; then
		agreed=$((agreed + 1))
	else
		STATUS=1
	fi
}

for libc in "$LIBCS"/*/; do
	file=$(find "$libc" -name libc.so.6 -path '*x86_64*' | head -n 1)
	[ -n "$file" ] || continue
	folder=$(cd "$(dirname "$file")" && pwd)
	version=$(basename "$libc")
	runs=0 agreed=0
	link "$folder" || { echo "$version: can't be linked with"; STATUS=1; continue; }
	for scenario; do
		check "$version" "$folder" "$scenario"
	done
	for tunable in $TUNABLES; do
		GLIBC_TUNABLES=$tunable
		export GLIBC_TUNABLES
		for scenario in mix mapped; do
			check "$version" "$folder" "$scenario"
		done
		unset GLIBC_TUNABLES
	done
	echo "$version: $agreed of $runs agree" >>"$WORK/sums"
done
[ $STATUS -eq 77 ] || { cat "$WORK/sums"; echo "$(wc -l <"$WORK/sums") releases"; }
exit $STATUS
