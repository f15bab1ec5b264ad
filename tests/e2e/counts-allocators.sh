#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts equal the truth under each preloaded allocator that is installed, usable sizes by its own
# function; of an allocator that nobody knows there are none, and that is said.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/counts_lib.sh"
needs jq python3 "${CC%% *}"

# preloaded LIBRARY: truth_threads with it.
preloaded() {
	background truth env LD_PRELOAD="$1" "$VICTIMS/truth_threads" --threads=3 --rounds=1500
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/truth.out" || fail "not ready: $(cat "$WORK/truth.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/truth.out")
}

for each in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 \
	mimalloc:libmimalloc.so.2.0; do
	path=$(find /usr/lib /usr/local/lib -name "${each#*:}" 2>/dev/null | sort | head -n 1)
	[ -n "$path" ] || { note "${each%%:*} is not installed"; continue; }
	for loader in dlopen map; do
		note "${each%%:*}, $loader"
		preloaded "$path"
		counts_session truth truth_threads sites --loader="$loader"
		json '.target.allocators[].name' | grep -qx "${each%%:*}" || fail "who is it?"
		json_expect .counts.unsized_count 0
		ended truth
	done
done

cat >"$WORK/wrapper.c" <<'END'
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return __libc_realloc(old, size); }
void free(void *block) { __libc_free(block); }
END
$CC -w -O0 -fno-builtin -shared -fPIC -o "$WORK/wrapper.so" \
	"$WORK/wrapper.c" || fail "no wrapper"
note "an unknown allocator"
preloaded "$WORK/wrapper.so"
counts_session truth truth_threads sites
json_expect '.target.allocators[0].name' other
json_expect '.counts.unsized_count >= .totals.alloc_count' true	# its free may be libc's
json_expect .counts.alloc_usable_bytes null
json_expect .totals.free_bytes null
ended truth
