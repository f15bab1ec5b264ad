#!/bin/sh
# SPDX-License-Identifier: MIT
# valgrind sees no error and no leak in what memattach does without a target.
TEST_LIMIT=${TEST_LIMIT:-600}
. "$(dirname "$0")/lib.sh"
needs valgrind
. "$E2E/cli_calls.sh"

# grind STATUS ARGUMENTS...
grind() {
	wanted=$1
	shift
	timeout 60 valgrind -q --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=definite,indirect,possible \
		--errors-for-leak-kinds=definite,indirect,possible --log-file="$WORK/valgrind" \
		"$MEMATTACH" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
	[ ! -s "$WORK/valgrind" ] || fail "memattach $*: $(cat "$WORK/valgrind")"
	expect "$status" "$wanted" "exit status of: $* ($(head -n 3 "$WORK/err"))"
}

cli_recording
cli_calls grind
