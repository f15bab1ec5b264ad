#!/bin/sh
# SPDX-License-Identifier: MIT
# The target fills the memory that it shares with memattach with zeros, ones, or noise, once
# or all the time: memattach lives, and takes out every hook by its own books.
. "$(dirname "$0")/lib.sh"

victim forge hostile --kind=forge
pristine_take "$VICTIM"

# ended_well: neither a signal nor a success that isn't one.
ended_well() {
	case $STATUS in
	0 | 5 | 6) ;;
	*)	fail "exit status $STATUS with '$how'" ;;
	esac
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "still mapped with '$how'"
	pristine_check "$VICTIM"
}

for how in j 0 1 r w l; do
	attach_begin -p "$VICTIM" $EXACT --json
	attach_await "$VICTIM"
	tell forge "$how"
	answer forge forge
	is_gone "$ATTACH" || kill -INT "$ATTACH"
	attach_wait
	tell forge x
	answer forge forge
	ended_well
done

# A cleanup has nothing but the forged journal: it may be unable to, but harms nobody.
for how in j r; do
	attach_begin -p "$VICTIM" $EXACT --json
	attach_await "$VICTIM"
	for pid in $(attach_processes); do
		kill -KILL "$pid" 2>/dev/null
	done
	attach_wait
	tell forge "$how"
	answer forge forge
	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>"$ERRORS"
	STATUS=$?
	case $STATUS in
	0)	pristine_check "$VICTIM" ;;
	3 | 5 | 6) [ -s "$ERRORS" ] || fail "cleanup: status $STATUS and not a word" ;;
	*)	fail "cleanup: exit status $STATUS with '$how'" ;;
	esac
	finished forge
	victim forge hostile --kind=forge
	pristine_take "$VICTIM"
done
finished forge
