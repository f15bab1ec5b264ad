#!/bin/sh
# SPDX-License-Identifier: MIT
# Targets of which no copy may be made are refused before anything is done to them: one line that
# says why and what to do, exit status 3. What it names, --snapshot=stop, then works.
. "$(dirname "$0")/lib.sh"
. "$E2E/leaks.sh"
needs jq

# words_for KIND: what the reason must speak of.
words_for() {
	case $1 in
	userfaultfd)	echo 'userfaultfd.*--snapshot=stop' ;;
	errno | kill)	echo 'seccomp.*--snapshot=stop' ;;
	nproc)		echo 'process.*limit.*--snapshot=stop' ;;
	pidns)		echo 'pid namespace.*--snapshot=stop' ;;
	share)		echo 'shares its memory.*--snapshot=stop' ;;
	memory)		echo 'memory' ;;
	pids)		echo 'control group.*pids.max.*--snapshot=stop' ;;
	esac
}

# refused KIND: $VICTIM, which is then read at a stop.
refused() {
	pristine_take "$VICTIM"
	attach -p "$VICTIM" --leaks -d 0
	expect "$STATUS" 3 "exit status for $1"
	said_one_line "$(words_for "$1")"
	note "$1: $(cat "$ERRORS")"
	pristine_check "$VICTIM" --quiet
	attach -p "$VICTIM" --leaks -d 0 --snapshot=stop --json
	[ "$STATUS" -le 1 ] || fail "$1: exit status $STATUS with --snapshot=stop"
	# it stood still for the whole search, and the report says so
	json_expect '.leaks.pause_us > 0 and .session.attach_stop_us_max >= .leaks.pause_us' true
	json_expect .session.detached pristine
	pristine_check "$VICTIM" --quiet
}

for kind in userfaultfd errno kill nproc pidns share; do
	victim "$kind" uncopyable --kind="$kind"
	if [ "$VICTIM" = none ]; then
		note "$kind can't be had here"
		continue
	fi
	[ "$kind" != share ] || sharer=$(children_of "$VICTIM")
	refused "$kind"
	no_child_stays "$VICTIM" "${sharer:-none}"
	finished "$kind"
done

page_tables() { sed -n 's/^VmPTE:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$VICTIM/status"; }

# What is only reserved is no matter. Nor does a look make tables for it, of pages without end.
victim sparse uncopyable --kind=sparse
if [ "$VICTIM" = none ]; then
	note "terabytes can't be had here"
else
	pristine_take "$VICTIM"
	before=$(page_tables)
	for how in copy stop; do
		attach -p "$VICTIM" --leaks -d 0 "--snapshot=$how" --json
		expect "$STATUS" 0 "exit status for sparse memory, $how"
		json_expect '.leaks.scanned_bytes < 67108864' true
	done
	[ "$(page_tables)" -le $((before + 64)) ] ||
		fail "page tables: $before KiB, $(page_tables) KiB after"
	no_child_stays "$VICTIM"
	pristine_check "$VICTIM" --quiet
	finished sparse
fi

# More than can be read, as a file's pages hold what the file does: neither copied nor stopped.
victim file uncopyable --kind=file
if [ "$VICTIM" = none ]; then
	note "so large a file can't be had here"
else
	pristine_take "$VICTIM"
	for how in copy stop; do
		attach -p "$VICTIM" --leaks -d 0 "--snapshot=$how"
		expect "$STATUS" 3 "exit status for a huge mapped file, $how"
		said_one_line 'GiB of its memory would have to be read'
	done
	no_child_stays "$VICTIM"
	pristine_check "$VICTIM" --quiet
	finished file
fi

# Control groups, where we may make some.
group=/sys/fs/cgroup/memattach-e2e.$$
if is_root && mkdir "$group" 2>/dev/null && [ -e "$group/pids.max" ]; then
	trap 'tidy_up; rmdir "$group" 2>/dev/null' EXIT
	victim pids waiter --kind=none
	echo "$VICTIM" >"$group/cgroup.procs"
	echo 8 >"$group/pids.max"
	refused pids
	finished pids
	await 10 is_gone "$VICTIM"
	rmdir "$group"
else
	rmdir "$group" 2>/dev/null
	note "no pids controller here"
fi
