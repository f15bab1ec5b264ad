#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGKILL to memattach at every step of attach and detach, on a victim that checks its own
# registers, red zone, heap, masks and system calls, with signals and jumping handlers arriving.
# After each: the victim is unharmed, hooks are inert within a second, cleanup makes it pristine.
# FIRST_STEP and STEP_STRIDE deal the steps to several runs: without them every 31st (FULL: every
# fifth), from one of the first on, so that many runs see all (make soak: each); LOADER chooses
# the loader; STACK=fiber has the victim, of a single thread then, work on a fiber; MOST ends it
# after so many kills.
: "${TEST_LIMIT:=400}"
. "$(dirname "$0")/lib.sh"

: "${STEP_STRIDE:=$(in_full 5 31)}"
: "${FIRST_STEP:=$((1 + DEAL % STEP_STRIDE))}"
: "${LOADER:=auto}" "${KIND:=mix}" "${THREADS:=12}" "${STACK:=own}" "${MOST:=2000}"
[ -x "$MEMATTACH_STEPS" ] || skip "no build with a step counter"

victim check selfcheck --kind="$KIND" --threads="$THREADS" --stack="$STACK"
pristine_take "$VICTIM"
step=$FIRST_STEP
killed=0 ends=0
# over: the session came to its end before that step. Where it waits it has more steps at times:
# then others are tried, from another one on.
over() {
	ends=$((ends + 1))
	[ "$MOST" -eq 2000 ] || [ "$ends" -eq 12 ] && return
	step=$((1 + (step + 31) % STEP_STRIDE))
	return 1
}
while :; do
	MEMATTACH_KILL_STEP=$step timeout -k 5 60 "$MEMATTACH_STEPS" -p "$VICTIM" -d 0.1 \
		--sample=4096 --loader="$LOADER" >"$WORK/out" 2>"$ERRORS" </dev/null
	STATUS=$?
	"$TOOLS/ringwatch" "$VICTIM" inert 1000 >"$WORK/ringwatch" ||
		fail "step $step: hooks still record a second later"
	checked check
	[ "$STATUS" -ne 0 ] || { over && break; continue; }
	killed=$((killed + 1))
	timeout 60 "$MEMATTACH_STEPS" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>"$ERRORS" ||
		fail "step $step: cleanup ended with status $?"
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" ||
		fail "step $step: something of ours is still mapped after cleanup"
	pristine_check "$VICTIM"
	step=$((step + STEP_STRIDE))
	[ "$killed" -lt "$MOST" ] || break
	[ "$MOST" -lt 2000 ] || [ "$step" -lt 2000 ] || fail "no end of steps"
done
[ "$killed" -ge 5 ] || fail "only $killed steps were killed at: is the step counter built in?"
checked check
finished check
note "$killed kills, every $STEP_STRIDE from $FIRST_STEP on: $ANSWER"
# One EINTR at the most for each kill between a stop and its restore.
eintr=$(printf '%s' "$ANSWER" | sed -n 's/.*"eintr":\([0-9]*\).*/\1/p')
[ "$eintr" -le "$killed" ] || fail "$eintr EINTR for $killed kills"
