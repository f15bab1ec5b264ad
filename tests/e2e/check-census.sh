#!/bin/sh
# SPDX-License-Identifier: MIT
# Of the functions of the allocators that are installed, none is left alone for what its code looks
# like. Prints a line for each allocator: hooked; no hook needed; no hook of that shape; the rest.
# shellcheck disable=SC2034 # VICTIM_SELF is lib.sh's
. "$(dirname "$0")/lib.sh"

# census LIBRARY [PROGRAM MODULE]: preloaded; where there is none, libc's own, which is MODULE.
census() {
	background waiter env LD_PRELOAD="$1" "${2:-$VICTIMS/truth_c}"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/waiter.out" || fail "not ready: $(cat "$WORK/waiter.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/waiter.out")
	"$MEMATTACH" check -p "$VICTIM" >"$WORK/check" 2>&1 || fail "$(cat "$WORK/check")"
	ended waiter
	name=$(basename "${1:-${3:-libc.so.6}}")
	in_module=$(awk -v name="/$name" '/^[a-z]/ { inside = index($0, name ":") > 0 } \
		inside && /^  .* at 0x/ { count++ } END { print count + 0 }' "$WORK/check")
	# No block goes through the loader's notification.
	alone=$(grep -F "left alone: " "$WORK/check" | grep -F "($name)" |
		grep -v 'left alone: _dl_debug_state ')
	needless=$(printf '%s\n' "$alone" | grep -c '): calls ')
	shape=$(printf '%s\n' "$alone" | grep -c 'no hook of that shape')
	rest=$(printf '%s\n' "$alone" | grep -v '): calls \|no hook of that shape' | grep -c .)
	note "$name: $in_module hooked, $needless need none, $shape of no shape, $rest left"
	[ "$in_module" -gt 0 ] || fail "nothing is hooked: $(cat "$WORK/check")"
	expect "$rest" 0 "functions of $name that can't be hooked"
}

census ""
if command -v musl-gcc >/dev/null 2>&1; then
	musl-gcc -std=gnu11 -D_GNU_SOURCE -Dpvalloc=valloc -O1 -w -I"$SRCDIR" -pthread \
		-o "$WORK/musl" \
		"$SRCDIR/tests/victims/truth_c.c" "$SRCDIR/tests/victims/truth.c" \
		"$SRCDIR/tests/victims/victim.c" >"$WORK/built" 2>&1 || fail "$(cat "$WORK/built")"
	census "" "$WORK/musl" ld-musl-x86_64.so.1
else
	note "musl-gcc is not installed"
fi
for each in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4 libmimalloc.so.2.0 \
	libtbbmalloc_proxy.so.2 libmemusage.so; do
	path=$(find /usr/lib /usr/local/lib /lib -name "$each" 2>/dev/null | sort | head -n 1)
	[ -n "$path" ] || { note "$each is not installed"; continue; }
	census "$path"
done
