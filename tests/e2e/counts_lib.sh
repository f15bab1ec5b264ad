# SPDX-License-Identifier: MIT
# What the tests of --counts share. After lib.sh.
# shellcheck shell=sh disable=SC2034

# counts_session NAME MODULES KIND [OPTIONS]: attach, the work of a truth victim, detach; compared.
counts_session() {
	counts_name=$1 counts_modules=$2 counts_kind=$3
	shift 3
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --counts="$counts_kind" --json "$@"
	attach_await "$VICTIM"
	truth "$counts_name"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .session.detached pristine
	json_expect .session.mode counts
	json_expect .counts.kind "$counts_kind"
	json_expect .session.events.alloc 0
	pristine_check "$VICTIM"
	python3 "$E2E/check_counts.py" "$WORK/$counts_name.truth" "$REPORT" "$counts_modules" ||
		fail "the truth is another ($counts_kind)"
}
