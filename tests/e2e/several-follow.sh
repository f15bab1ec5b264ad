#!/bin/sh
# SPDX-License-Identifier: MIT
# --follow: children become members, by fork, by fork and exec, by vfork; so does what a process has
# become by exec. Their figures are exact; each is left pristine, whoever ends first.
: "${TEST_LIMIT:=300}"
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/several_lib.sh"
: "${LOADERS:=$(in_full "auto map dlopen" "$(dealt_loader)")}"

# fresh KIND: a child with a program of its own, which stops itself as it begins: nobody enters what
# is stopped, so that it can be looked at before it is entered. Sets CHILD.
fresh() {
	stopped=$(grep -c '^stopped ok' "$WORK/family.out")
	tell family "$1"
	await 20 more_stopped || fail "no child: $(cat "$WORK/family.err")"
	CHILD=$(sed -n 's/^stopped ok //p' "$WORK/family.out" | tail -n 1)
	own "$CHILD"
	await 20 grep -q '^State:.T' "/proc/$CHILD/status" || fail "$CHILD does not stop"
	pristine_take "$CHILD"
	"$TOOLS/ringwatch" "$CHILD" gone 0 >"$WORK/ringwatch" || fail "$CHILD was entered"
	kill -CONT "$CHILD"
	await 20 said "child ok $CHILD" || fail "$CHILD does not go on"
}
more_stopped() { [ "$(grep -c '^stopped ok' "$WORK/family.out")" -gt "$stopped" ]; }

# A family of one, which is watched.
family_watched() {
	victim family family
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow $EXACT --json
	attach_await "$VICTIM"
}

for loader in $LOADERS; do
	note "children of all kinds, $loader"
	victim family family
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow $EXACT --json --loader="$loader"
	attach_await "$VICTIM"
	tell family g
	await 20 said "worked $VICTIM" || fail "the parent does not work"
	child f; forked=$CHILD
	fresh e; execed=$CHILD
	fresh v; vforked=$CHILD
	for pid in $forked $execed $vforked; do
		attach_await "$pid"
		works "$pid"
	done
	tell family n
	answer family ended
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	[ "$(json '[.processes[] | select(.watched)] | length')" -ge 4 ] || fail "too few members"
	for pid in $VICTIM $forked $execed $vforked; do
		books_are_right "$pid" "$pid"
		expect "$(of_process "$pid" .detached)" pristine "how $pid was left"
	done
	expect "$(json '[.sites[] | select([.frames[] | .function] | index("keep")) |
		.by_process | length] | sort | tostring')" '[1,1,2]' "who shares a path to keep()"
	pristine_check "$VICTIM"
	forked_pristine "$forked"
	pristine_check "$execed"
	pristine_check "$vforked"
	for pid in $forked $execed $vforked; do
		gone "$pid"
	done
	finished family
done

if dealt 2; then
	note "exec in place: a new column"
	victim family family
	attach_begin -p "$VICTIM" --follow $EXACT --json
	attach_await "$VICTIM"
	tell family g
	await 20 said "worked $VICTIM" || fail "the parent does not work"
	tell family x
	again() { [ "$(grep -c '^ready' "$WORK/family.out")" -eq 2 ]; }
	await 20 again || fail "no exec"
	pristine_take "$VICTIM"
	attach_await "$VICTIM"
	tell family g
	worked_again() { [ "$(grep -c '^worked' "$WORK/family.out")" -eq 2 ]; }
	await 20 worked_again || fail "it does not work after exec"
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	expect "$(json "[.processes[] | select(.pid == $VICTIM)] | map([.after_exec, .detached]) |
		sort | tostring")" '[[false,"target-ended"],[true,"pristine"]]' "both sessions"
	expect "$(json "[.processes[] | .totals.live_bytes >= 100000] | tostring")" '[true,true]' \
		"what both kept"
	pristine_check "$VICTIM"
	finished family
fi

if dealt 2; then
	note "the parent ends, its child is watched on"
	family_watched
	child f; orphan=$CHILD
	attach_await "$orphan"
	tell family p
	await 20 is_gone "$VICTIM" || fail "the parent does not end"
	works "$orphan"
	attach_end
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	books_are_right "$orphan" "the orphan"
	expect "$(of_process "$VICTIM" .detached)" target-ended "the parent"
	expect "$(of_process "$orphan" .detached)" pristine "the orphan"
	forked_pristine "$orphan"
	gone "$orphan"
	wait "$VICTIM_SELF"
fi

note "told to stop while a child is being entered"
for delay in 0.05 0.15 0.25 0.35; do
	dealt 2 || continue
	family_watched
	child f
	sleep "$delay"	# somewhere in its cleanup or its attach
	attach_end TERM
	expect "$STATUS" 0 "exit status after $delay"
	several_valid
	pristine_check "$VICTIM"
	forked_pristine "$CHILD"
	gone "$CHILD"
	finished family
done

if dealt 2; then
	note "the front of all is killed: its members leave by themselves"
	family_watched
	child f
	attach_await "$CHILD"
	kill -KILL "$ATTACH"
	await 30 "$TOOLS/ringwatch" "$VICTIM" gone 0 || fail "the parent is not left"
	await 30 "$TOOLS/ringwatch" "$CHILD" gone 0 || fail "the child is not left"
	pristine_check "$VICTIM"
	forked_pristine "$CHILD"
	gone "$CHILD"
	finished family
fi

if dealt 2; then
	note "sixty children in a moment, and children of theirs"
	victim forkers forkers
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --follow --sample=1024 --json --max-processes=12
	attach_await "$VICTIM"
	tell forkers s
	two_members() { [ "$(attach_processes | wc -l)" -ge 8 ]; }
	await 30 two_members || fail "no child is watched"
	LEAVE_LIMIT=130	# restoring so many takes a minute at the most; others' sessions come on top
	attach_end
	[ "$STATUS" -eq 0 ] || expect "$STATUS" 5 "exit status"
	several_valid
	sums_hold
	pristine_check "$VICTIM"
	tell forkers p
	answer forkers storm
	FORKED=${ANSWER#"storm ok "}
	own "$FORKED"
	for pid in $FORKED; do
		# One that is never still may be left by dlopen, or time ran out: both were told,
		# and cleanup does it, in a minute as many as it can, this one first.
		if [ "$STATUS" -eq 5 ] &&
		   ! "$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch"; then
			timeout $((90 * PATIENCE)) "$MEMATTACH" cleanup -p "$pid" 2>"$ERRORS" ||
				expect $? 5 "exit status of cleanup"
		fi
		forked_pristine "$pid"
	done
	finished forkers
	for pid in $FORKED; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in $FORKED; do
		await 30 grep -q "^child ok $pid\$" "$WORK/forkers.out" ||
			fail "child $pid: $(cat "$WORK/forkers.out" "$WORK/forkers.err")"
	done
fi
