#!/bin/sh
# SPDX-License-Identifier: MIT
# The picture of a leak report is a child of the target for a moment. Targets that would notice
# a child: by waiting, by SIGCHLD, by signals to their group, by locks and connections that
# don't end. After each: unharmed, no child, no zombie, pristine.
: "${TEST_LIMIT:=300}"
. "$(dirname "$0")/lib.sh"
. "$E2E/leaks.sh"
needs jq
: "${KINDS:=none all own ignore nocldwait forks threads vfork vforks timers group busy alone}"
: "${PICTURES:=$(in_full 4 1)}"

for kind in $KINDS; do
	dealt 4 || continue
	victim "$kind" waiter --kind="$kind"
	pristine_take "$VICTIM"
	refusable=""
	[ "$kind" != busy ] || refusable=yes
	for picture in $(seq "$PICTURES"); do
		leaks "$VICTIM" $refusable
		no_child_stays "$VICTIM"
	done
	checked "$kind"
	pristine_check "$VICTIM"
	finished "$kind"
	note "$kind: $ANSWER"
done

# Registers, masks, red zones, timeouts, and not one EINTR.
victim check selfcheck --kind=mix --threads=12
pristine_take "$VICTIM"
for picture in $(seq "$PICTURES"); do
	leaks "$VICTIM"
	no_child_stays "$VICTIM"
done
checked check
pristine_check "$VICTIM"
finished check
case $ANSWER in *'"eintr":0,'*) ;; *) fail "EINTR: $ANSWER" ;; esac

# peer_saw MILLISECONDS: the other side of a connection and of two locks, in that time.
peer_saw() {
	await 20 grep -q '^peer gone' "$WORK/held.out" || fail "the peer saw no end"
	peer_ms=$(sed -n 's/^peer gone //p' "$WORK/held.out")
	[ "$peer_ms" -le "$1" ] || fail "the peer saw the end after $peer_ms ms"
	note "seen by the peer after $peer_ms ms"
}

# A picture that ended early looks like memory without a reference: nothing may be said of it.
no_findings() {
	[ ! -s "$REPORT" ] || [ "$(json '.leaks // "none"')" = none ] ||
		fail "findings from a picture that ended: $(json -c .leaks | cut -c -200)"
}

# What the target closes is closed, though the picture lives.
victim held waiter --kind=held --ballast=160
peer=$(children_of "$VICTIM")
picture_hold "$VICTIM"
tell held k
peer_saw 1000
picture_lives "$VICTIM" || fail "the picture ended by itself"
# When memory runs out it is the first to go; the target's place in that order is as it was.
expect "$(cat "/proc/$PICTURE/oom_score_adj")" 1000 "the picture's oom_score_adj"
expect "$(cat "/proc/$VICTIM/oom_score_adj")" "$(cat /proc/$$/oom_score_adj)" "the target's"
picture_release
expect "$STATUS" 0 "exit status"
no_child_stays "$VICTIM" "$peer"
finished held

# So it is when the target ends.
victim held waiter --kind=held --ballast=160
picture_hold "$VICTIM"
tell held x
peer_saw 1000
is_gone "$PICTURE" || await 60 is_gone "$PICTURE" || fail "the picture outlives its target"
picture_release
expect "$STATUS" 4 "exit status for a target that ended"
no_findings

# And when another program takes its place, which then runs undisturbed.
victim held waiter --kind=held --ballast=160
peer=$(children_of "$VICTIM")
picture_hold "$VICTIM"
tell held e
peer_saw 1500
picture_release
[ "$STATUS" -ge 4 ] || fail "exit status $STATUS for a target that was replaced"
no_findings
[ "$(cat "/proc/$VICTIM/comm")" = sleep ] || fail "the new program is gone"
timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
no_child_stays "$VICTIM" "$peer"

# The new program keeps a lock of a record: it is held still when the picture has ended.
victim held waiter --kind=held --ballast=160
peer=$(children_of "$VICTIM")
picture_hold "$VICTIM"
tell held E
await 60 grep -q '^sleep$' "/proc/$VICTIM/comm" || fail "no new program"
picture_release
[ "$STATUS" -ge 4 ] || fail "exit status $STATUS for a target that was replaced"
! await 1 grep -q '^peer gone' "$WORK/held.out" || fail "its lock was lost"
timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
no_child_stays "$VICTIM" "$peer"
kill "$VICTIM"
await 20 grep -q '^peer gone' "$WORK/held.out" || fail "the lock outlives its program"

# A picture that somebody else kills is the end of the report, not of the target.
victim held waiter --kind=none --ballast=160
pristine_take "$VICTIM"
for _ in 1 2 3 4 5; do	# on a busy machine it may have been read before it was held
	picture_hold "$VICTIM"
	kill -KILL "$PICTURE"
	picture_release
	[ "$STATUS" -eq 0 ] || break
done
expect "$STATUS" 6 "exit status for a picture that was killed"
no_findings
no_child_stays "$VICTIM"
checked held
pristine_check "$VICTIM"

# Another tracer comes while the picture lives: what then can't be removed, cleanup removes.
if command -v strace >/dev/null 2>&1; then
	picture_hold "$VICTIM"
	strace -f -qq -e trace=none -o /dev/null -p "$VICTIM" &
	TRACER=$!
	own "$TRACER"
	await 20 grep -q "^TracerPid:.$TRACER\$" "/proc/$VICTIM/status" || fail "no tracer came"
	picture_release
	expect "$STATUS" 5 "exit status with another tracer"
	grep -q "cleanup -p $VICTIM" "$ERRORS" || fail "cleanup is not named: $(cat "$ERRORS")"
	kill -INT "$TRACER"
	wait "$TRACER"
	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
	no_child_stays "$VICTIM"
	checked held
	pristine_check "$VICTIM"
fi

# Ctrl-C, SIGTERM, and the death of either process, in the middle of a picture.
for end in INT TERM analyst KILL; do
	dealt 4 || continue
	picture_hold "$VICTIM"
	case $end in
	analyst) kill -KILL "$ANALYST" ;;
	KILL)	kill -KILL "$KEEPER" "$ANALYST" "$ATTACH" 2>/dev/null ;;
	*)	kill -"$end" "$ATTACH"
		await 30 is_gone "$PICTURE" || fail "SIG$end does not end the picture" ;;
	esac
	await 30 is_gone "$PICTURE" || fail "the picture outlives it ($end)"
	picture_release
	note "$end: exit status $STATUS"
	[ "$STATUS" -ge 4 ] || fail "a report from a picture that was not read"
	no_findings
	[ "$end" != KILL ] ||
		timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
	no_child_stays "$VICTIM"
	checked held
	pristine_check "$VICTIM"
done
finished held
