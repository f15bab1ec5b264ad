#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode equals the truth under each preloaded allocator that is installed.
. "$(dirname "$0")/lib.sh"
needs jq python3

# library ALLOCATOR GLOB: its path, or nothing
library() {
	find /usr/lib /usr/local/lib -name "$1" 2>/dev/null | sort | head -n 1
}

seen=0
for allocator in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 \
	mimalloc:libmimalloc.so.2.0; do
	preload=$(library "${allocator#*:}")
	[ -n "$preload" ] || { note "${allocator%%:*} is not installed"; continue; }
	LD_PRELOAD=$preload
	export LD_PRELOAD
	background truth "$VICTIMS/truth_threads" --threads=3 --rounds=1500
	unset LD_PRELOAD
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/truth.out" || fail "not ready"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/truth.out")
	exact_session truth truth_threads
	json '.target.allocators[].name' | grep -qx "${allocator%%:*}" ||
		fail "${allocator%%:*} is not among the allocators: $(json .target.allocators)"
	ended truth
	seen=$((seen + 1))
done
[ "$seen" -gt 0 ] || skip "no other allocator is installed"
