# SPDX-License-Identifier: MIT
# What the tests of the leak report's picture share. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154

children_of() {
	cat "/proc/$1/task"/*/children 2>/dev/null | tr -s ' ' '\n' | grep . | sort
}

# no_child_stays PID [CHILD]: none but CHILD is there now and also half a second later.
no_child_stays() {
	children_of "$1" | grep -vx "${2:-none}" >"$WORK/children.1"
	[ -s "$WORK/children.1" ] || return 0
	sleep 0.5
	children_of "$1" >"$WORK/children.2"
	comm -12 "$WORK/children.1" "$WORK/children.2" >"$WORK/children"
	[ ! -s "$WORK/children" ] || fail "a child stays: $(
		grep -sE '^(State|TracerPid)' "/proc/$(head -n 1 "$WORK/children")/status")"
}

# leaks PID [refusable]: one report from one picture. What it found is not the matter here. Many
# busy threads on few processors may be refused, in one line.
leaks() {
	attach -p "$1" --leaks -d 0 --json
	if [ "$STATUS" -eq 3 ] && [ $# -gt 1 ]; then
		note "refused: $(cat "$ERRORS")"
		return
	fi
	[ "$STATUS" -le 1 ] || fail "exit status $STATUS"
	json_expect .session.detached pristine
}

held_line='^[0-9]+ [0-9]+ [0-9]+ [0-9]+$'

picture_lives() { ! is_gone "$PICTURE"; }

is_held() { grep -sqE "$held_line" "$WORK/held.pids" || is_gone "$HOLDER"; }

# picture_hold PID: a report whose analyst is stopped while it reads the picture. Sets ATTACH,
# KEEPER, ANALYST and PICTURE. A target with little memory is read too fast for this.
picture_hold() {
	rm -f "$WORK/held.pids"		# of an earlier one
	# memattach's own words come on the same descriptor
	python3 "$E2E/hold_picture.py" "$1" "$MEMATTACH" -p "$1" --leaks -d 0 --json \
		>"$REPORT" 2>"$WORK/held.pids" </dev/null &
	HOLDER=$!
	own "$HOLDER"
	await 60 is_held || fail "no picture was seen"
	# shellcheck disable=SC2046
	set -- $(grep -E "$held_line" "$WORK/held.pids") none none none none
	ATTACH=$1 KEEPER=$2 ANALYST=$3 PICTURE=$4
	[ "$PICTURE" != none ] || fail "no picture was seen: $(cat "$WORK/held.pids")"
	own "$ATTACH" "$KEEPER" "$ANALYST"
}

# The analyst reads on. Sets STATUS.
picture_release() {
	kill -CONT "$ANALYST" 2>/dev/null
	await 60 is_gone "$HOLDER" || fail "memattach does not end"
	wait "$HOLDER"
	STATUS=$?
	grep -vE "$held_line" "$WORK/held.pids" >"$ERRORS"
}
