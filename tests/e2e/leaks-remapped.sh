#!/bin/sh
# SPDX-License-Identifier: MIT
# Memory that a process keeps from its children is younger than the rest of a picture, so that
# nothing is surely lost then. Memory that was not mapped when the picture was taken, and is mapped
# again afterwards, is not such memory.
. "$(dirname "$0")/lib.sh"
needs jq

# look KIND DEFINITE POSSIBLE LATE: one block of 4000 bytes is lost, and has 4008.
look() {
	attach -p "$VICTIM" --leaks -d 0 --json
	expect "$STATUS" "$2" "$1: exit status"
	json_expect '.leaks | [.definitely_lost, .possibly_lost] |
		map(if .count == 0 then 0 else 1 end) | join(" ")' "$2 $3"
	json_expect '.leaks.late_bytes > 0' "$4"
	[ "$2" = 0 ] || json_expect .leaks.definitely_lost.bytes 4008
}

victim kept uncopyable --kind=kept
pristine_take "$VICTIM"
look kept 0 1 true
pristine_check "$VICTIM"
finished kept

victim remapped uncopyable --kind=remapped
turn=0
while [ $turn -lt "$(in_full 40 15)" ]; do
	look remapped 1 0 false
	turn=$((turn + 1))
done
finished remapped
