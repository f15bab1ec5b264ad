#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGKILL to memattach at every step of `--leaks -d 0`: between the clone and the moment from
# which the child dies with memattach, while the picture is read, while it is removed. After each
# the victim is unharmed, no other process has run a single instruction of its code, and cleanup
# removes the zombie. FIRST_STEP and STEP_STRIDE deal the steps to several runs.
: "${TEST_LIMIT:=590}"
. "$(dirname "$0")/lib.sh"
. "$E2E/leaks.sh"
: "${STEP_STRIDE:=$(in_full 9 25)}"
: "${FIRST_STEP:=$((1 + DEAL % STEP_STRIDE))}" "${KIND:=mix}" "${THREADS:=8}"
[ -x "$MEMATTACH_STEPS" ] || skip "no build with a step counter"

victim check selfcheck --kind="$KIND" --threads="$THREADS"
mix=$VICTIM
pristine_take "$mix"
# Its threads say who they are at every turn: a second process would be seen.
victim runs waiter --kind=runs
runs=$VICTIM
pristine_take "$runs"

# end_at STEP NAME PID: kills memattach there; STATUS is 0 or 1 when there is no such step.
end_at() {
	MEMATTACH_KILL_STEP=$1 timeout -k 5 60 "$MEMATTACH_STEPS" -p "$3" --leaks -d 0 \
		>"$WORK/out" 2>"$ERRORS" </dev/null
	STATUS=$?
	checked "$2"
	[ "$STATUS" -gt 1 ] || return
	killed=$((killed + 1))
	[ -z "$(children_of "$3")" ] || zombies=$((zombies + 1))
	await 60 no_child_runs "$3" || fail "step $1: a child runs"
	timeout 60 "$MEMATTACH_STEPS" cleanup -p "$3" >"$WORK/cleanup" 2>"$ERRORS" ||
		fail "step $1: cleanup ended with status $?"
	[ -z "$(children_of "$3")" ] || fail "step $1: a child is left after cleanup"
	pristine_check "$3"
}

# Zombies only.
no_child_runs() {
	for child in $(children_of "$1"); do
		grep -q '^State:.Z' "/proc/$child/status" || return 1
	done
}

killed=0 zombies=0
for name in check runs; do
	[ "$name" = check ] && VICTIM=$mix || VICTIM=$runs
	step=$FIRST_STEP
	while :; do
		end_at "$step" "$name" "$VICTIM"
		[ "$STATUS" -gt 1 ] || break
		step=$((step + STEP_STRIDE))
		[ "$step" -lt 2000 ] || fail "no end of steps"
	done
	note "$name: steps up to $step"
done
[ "$killed" -ge 5 ] || fail "only $killed steps were killed at: is the step counter built in?"
[ "$zombies" -ge 1 ] || [ "$STEP_STRIDE" -gt 10 ] || fail "no kill fell between clone and reaping"
note "killed at $killed steps, every $STEP_STRIDE from $FIRST_STEP on; $zombies zombies"
finished runs
finished check
eintr=$(printf '%s' "$ANSWER" | sed -n 's/.*"eintr":\([0-9]*\).*/\1/p')
[ "$eintr" -le "$killed" ] || fail "$eintr EINTR for $killed kills"
