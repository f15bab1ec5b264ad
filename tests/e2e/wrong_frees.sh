# SPDX-License-Identifier: MIT
# wrong_frees.sh - sourced: the victim wrong_frees, what it is told, and what is reported of it.
# Before it: begin(), which starts the victim and the session.
source=$SRCDIR/tests/victims/wrong_frees.c
: "${STATUSES:=0}"	# of memattach, when the target lives on

# survives CASE...: cases after which the target lives on.
survives() {
	for each in "$@"; do
		tell wrong "$each"
		answer wrong done
	done
	attach_end INT
	case " $STATUSES " in
	*" $STATUS "*) ;;
	*) fail "exit status $STATUS, expected $STATUSES" ;;
	esac
	json_valid
	json_expect .session.detached pristine
	ended wrong
}

# ends CASE: the target is dead right after it.
ends() {
	tell wrong "$1"
	attach_wait
	expect "$STATUS" 4 "exit status"
	json_valid
	json_expect .session.detached target-ended
	await 10 is_gone "$VICTIM_SELF" || fail "the victim survived case $1"
}

# wrong_frees WRONG...: are what is reported; see check_wrong_frees.py.
wrong_frees() {
	python3 "$E2E/check_wrong_frees.py" "$REPORT" "$source" "$@" || fail "wrong frees"
}
