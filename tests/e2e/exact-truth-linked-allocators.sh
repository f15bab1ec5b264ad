#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth where the allocator is linked into the executable: jemalloc and
# tcmalloc, with and without the file's symbols, and jemalloc with a prefix beside glibc's malloc.
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}" strip objcopy
names="malloc calloc realloc free memalign aligned_alloc posix_memalign valloc malloc_usable_size"

# linked NAME ARCHIVE [FLAGS]: a program that allocates in threads, with that archive in it.
linked() {
	linked_name=$1 archive=$2
	shift 2
	v=$SRCDIR/tests/victims
	$CC -std=gnu11 -g -O2 -D_GNU_SOURCE -I"$SRCDIR" "$@" -o "$WORK/$linked_name" \
		"$v/truth_threads.c" "$v/truth.c" "$v/victim.c" "$archive" \
		-lstdc++ -lm -pthread -ldl >"$WORK/link" 2>&1 || fail "$1: $(cat "$WORK/link")"
}

# truth_of NAME ALLOCATOR LOADERS: an allocator that is not known is watched by map.
truth_of() {
	for loader in $3; do
		dealt 2 || continue
		note "$1, $loader"
		usual=$VICTIMS
		VICTIMS=$WORK
		victim truth "$1" --threads=3 --rounds=1500
		VICTIMS=$usual
		exact_session truth "$1" --loader=$loader
		json '.target.allocators[] | select(.module | endswith("/'"$1"'")) | .name' |
			grep -qx "$2" || fail "$2 is not found in it: $(json .target.allocators)"
		[ "$1" != prefixed ] || json '.target.allocators[].name' | grep -qx glibc ||
			fail "glibc's is not found beside it"
		[ "$2 $loader" != "other auto" ] || json_expect .session.loader map
		ended truth
	done
}

seen=0
for each in jemalloc:libjemalloc.a tcmalloc:libtcmalloc_minimal.a; do
	name=${each%%:*}
	archive=$($CC -print-file-name="${each#*:}")
	[ -e "$archive" ] || { note "${each#*:} is not installed"; continue; }
	seen=$((seen + 1))
	linked "$name" "$archive"
	truth_of "$name" "$name" "dlopen map"
	linked stripped "$archive"
	# its names are looked for there
	cp "$WORK/stripped" "$WORK/stripped.debug"
	strip "$WORK/stripped"
	truth_of stripped other auto
	[ "$name" = jemalloc ] || continue
	for function in $names; do
		echo "$function je_$function"
	done >"$WORK/prefixes"
	objcopy --redefine-syms="$WORK/prefixes" "$archive" "$WORK/prefixed.a"
	flags=$(for function in $names; do echo "-D$function=je_$function"; done)
	# shellcheck disable=SC2086
	linked prefixed "$WORK/prefixed.a" $flags
	truth_of prefixed jemalloc "dlopen map"
done
[ "$seen" -gt 0 ] || skip "no allocator that can be linked is installed"
