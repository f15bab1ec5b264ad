#!/bin/sh
# SPDX-License-Identifier: MIT
# --follow, of those whose parents have ended: daemons (forked twice), and what goes on after the
# only process that was named; and of many that end at once: all are counted, none is an error. With
# the kernel's events, and without them.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/several_lib.sh"
modes_here

quiet() { [ ! -s "$ERRORS" ] || fail "something was said: $(cat "$ERRORS")"; }

for mode in $MODES; do
	dealt 2 || continue
	as_mode "$mode"

	note "daemons, $mode"
	victim family family
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow $EXACT --json
	attach_await "$VICTIM"
	daemons=""
	for _ in 1 2 3; do
		child d
		daemons="$daemons $CHILD"
	done
	for pid in $daemons; do
		expect "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" |
			grep -cx "$VICTIM")" 0 "daemons whose parent is the target"
		attach_await "$pid"
		works "$pid"
	done
	execed=""
	if [ "$mode" = events ]; then	# without: nothing of ours is left in it
		child D
		execed=$CHILD
		attach_await "$execed"
		works "$execed"
	fi
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	quiet
	for pid in $daemons $execed; do
		books_are_right "$pid" "daemon $pid"
		expect "$(of_process "$pid" .detached)" pristine "how daemon $pid was left"
		[ "$pid" = "$execed" ] || forked_pristine "$pid"
		gone "$pid"
	done
	pristine_check "$VICTIM"
	finished family

	note "the only one that was named forks and ends, $mode"
	victim family family
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow $EXACT --json
	attach_await "$VICTIM"
	child f		# once it is watched, marks of its parent are known
	attach_await "$CHILD"
	gone "$CHILD"
	child fp
	attach_await "$CHILD"
	works "$CHILD"
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	expect "$(of_process "$VICTIM" .detached)" target-ended "the parent"
	expect "$(of_process "$CHILD" .detached)" pristine "what goes on"
	books_are_right "$CHILD" "what goes on"
	forked_pristine "$CHILD"
	gone "$CHILD"
	wait "$VICTIM_SELF"

	note "a storm of short ones, $mode"
	victim family family
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow $EXACT --json --max-processes=3
	attach_await "$VICTIM"
	child f
	stays=$CHILD
	attach_await "$stays"
	tell family s
	answer family storm
	works "$stays"
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	# a row each for those that were watched till their end; all others are counted
	rows=$(json "[.processes[] | select(.pid != $VICTIM and .pid != $stays)] | length")
	missed=$(json .missed_children)
	if [ "$mode" = events ]; then
		expect "$((rows + missed))" 120 "children that are accounted for"
	else
		[ "$((rows + missed))" -le 120 ] || fail "$rows and $missed children of 120"
	fi
	expect "$(json '[.processes[] | select(.watched | not)] | length')" 0 "errors"
	quiet
	books_are_right "$stays" "the one that stays"
	pristine_check "$VICTIM"
	forked_pristine "$stays"
	gone "$stays"
	finished family
done
