#!/bin/sh
# SPDX-License-Identifier: MIT
# A block that a thread has just given to free, or gets from malloc, is not lost: glibc knows it
# by an address of its own meanwhile, and may wait there for a lock. Also where malloc has no name.
. "$(dirname "$0")/lib.sh"
needs jq

wanted=$(in_full 10 4)
# look_at NAME: a victim whose threads contend, until it was searched so often.
look_at() {
	victim contend "$1" --kind=contend
	pristine_take "$VICTIM"
	looks=0
	for _ in $(seq 20); do
		attach -p "$VICTIM" --leaks -d 0 --json
		# no picture without a thread in the midst of a change
		grep -q 'allocator is at work' "$ERRORS" && continue
		expect "$STATUS" 0 "exit status"
		json_expect .leaks.definitely_lost.count 0
		json_expect .leaks.covers_older_blocks true
		pristine_check "$VICTIM"
		looks=$((looks + 1))
		[ $looks -lt "$wanted" ] || break
	done
	expect "$looks" "$wanted" "looks"
	finished contend
}

# build NAME OPTION: static, without symbols; fails where that can't be done here.
build() {
	$CC -s "$2" -std=gnu11 -D_GNU_SOURCE -O2 -w -I"$SRCDIR" -pthread -o "$WORK/$1" \
		"$SRCDIR/tests/victims/awkward.c" "$SRCDIR/tests/victims/victim.c" \
		>"$WORK/build" 2>&1
}

look_at awkward
VICTIMS=$WORK
for option in -static -static-pie; do
	if build "awkward$option" "$option"; then
		look_at "awkward$option"
	else
		note "$option: can't be built here"
	fi
done
