#!/bin/sh
# SPDX-License-Identifier: MIT
# Another process shares the target's memory and is inside the allocator all the time: it is
# no thread of the target, can't be seen from there, and must not be harmed either.
. "$(dirname "$0")/lib.sh"
needs jq
: "${LOADERS:=map dlopen}"

# Whatever memattach could or couldn't do, it says so; the sharer lives; then all is as before.
for loader in $LOADERS; do
	victim share awkward --kind=share
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --sample=65536 --json --loader="$loader"
	"$TOOLS/ringwatch" "$VICTIM" armed 1500 >"$WORK/ringwatch"
	is_gone "$ATTACH" || kill -INT "$ATTACH"
	"$TOOLS/ringwatch" "$VICTIM" gone 1500 >"$WORK/ringwatch"
	tell share k
	answer share child
	attach_wait
	case $STATUS in
	0)	;;
	3 | 5 | 6)
		[ -s "$ERRORS" ] || fail "status $STATUS and not a word"
		timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup" ;;
	*)	fail "exit status $STATUS" ;;
	esac
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
	pristine_check "$VICTIM"
	finished share
done

# Children of vfork are inside our hooks while their parent's thread waits.
victim spawn awkward --kind=spawn
pristine_take "$VICTIM"
for cycle in 1 2 3; do
	attach -p "$VICTIM" -d 0.2 --sample=65536 --json
	expect "$STATUS" 0 "exit status of cycle $cycle"
	pristine_check "$VICTIM"
done
finished spawn
