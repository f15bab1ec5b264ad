#!/bin/sh
# SPDX-License-Identifier: MIT
# The target puts a descriptor of a file that it may not write in the place of the memory
# that memattach has just made in it: the file stays as it is.
. "$(dirname "$0")/lib.sh"
is_root || skip "needs root, to have rights that the target lacks"
may_trace_others || skip "no CAP_SYS_PTRACE"
: "${ATTACHES:=10}"	# at least; more where the victim was never quick enough

echo 'no process of user 65534 may change this' >"$WORK/original"
for open in path read; do
	cp "$WORK/original" "$WORK/file"
	case $open in path) chmod 600 "$WORK/file" ;; *) chmod 644 "$WORK/file" ;; esac
	victim swap hostile --kind=swap --file="$WORK/file" --open="$open"
	pristine_take "$VICTIM"
	attempt=0
	ANSWER="next 0"
	while [ "$attempt" -lt "$ATTACHES" ] ||
		{ [ "${ANSWER##* }" -eq 0 ] && [ "$attempt" -lt $((ATTACHES * 8)) ]; }; do
		tell swap n
		answer swap next
		attach -p "$VICTIM" -d 0.05 --json
		case $STATUS in 0 | 3 | 5 | 6) ;; *) fail "exit status $STATUS" ;; esac
		[ "$STATUS" -eq 0 ] || [ -s "$ERRORS" ] || fail "status $STATUS and not a word"
		cmp "$WORK/original" "$WORK/file" || fail "the file was written to ($open)"
		attempt=$((attempt + 1))
	done
	tell swap n
	answer swap next
	note "$open: ${ANSWER##* } of $attempt attaches found a swapped descriptor"
	[ "${ANSWER##* }" -gt 0 ] || fail "the victim never swapped anything"
	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
	pristine_check "$VICTIM"
	finished swap
done
