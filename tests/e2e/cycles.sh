# SPDX-License-Identifier: MIT
# Attach and detach many times in a row. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2154

descriptors_of() {
	find "/proc/$1/fd" -mindepth 1 -maxdepth 1 | wc -l
}

# What of a process's maps could only be ours, or its text: anonymous memory is its own business.
file_maps_of() {
	awk '$6 ~ /^\// { print $1, $2, $6 }' "/proc/$1/maps"
}

# cycles PID COUNT
cycles() {
	cycles_fds=$(descriptors_of "$1")
	file_maps_of "$1" >"$WORK/maps.before"
	pristine_take "$1"
	cycles_done=0
	while [ "$cycles_done" -lt "$2" ]; do
		attach -p "$1" -d 0.1 --sample=65536 --json
		expect "$STATUS" 0 "exit status of cycle $cycles_done"
		json_expect .session.detached pristine
		cycles_done=$((cycles_done + 1))
	done
	pristine_check "$1"
	file_maps_of "$1" >"$WORK/maps.after"
	diff "$WORK/maps.before" "$WORK/maps.after" || fail "mappings changed"
	# A loaded server opens and closes connections; what we leaked would be one a cycle.
	[ "$(descriptors_of "$1")" -lt $((cycles_fds + $2 / 2 + 3)) ] || fail "descriptors grow"
}
