#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that restricts itself while it is watched, or that runs into a limit: leaving takes less
# than coming did. A system call filter that refuses calls which leaving does not make is no reason
# to stay, nor that no further mapping is to be had.
. "$(dirname "$0")/lib.sh"
needs jq

begin() {
	victim moves moves_text
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json --loader="$1"
	attach_await "$VICTIM"
}

# changes COMMAND ANSWER
changes() {
	tell moves "$1"
	answer moves "$2"
}

sees_filters || skip "no filters of system calls can be read here"
for loader in map dlopen; do	# what dlclose calls passes as well
	note "a filter, $loader"
	begin "$loader"
	changes s filter
	attach_end
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	ended moves
done

note "a filter, map, memattach killed"
begin map
changes s filter
attach_kill
cleaned_up "$VICTIM"
pristine_check "$VICTIM"
ended moves

note "no further mapping, memattach killed"
[ "$(cat /proc/sys/vm/max_map_count)" -le 300000 ] || skip "too many mappings are allowed here"
begin map
changes m full
attach_kill
cleaned_up "$VICTIM"
changes M free
pristine_check "$VICTIM"
ended moves
