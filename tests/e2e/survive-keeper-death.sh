#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # one word each
# The keeper is killed while hooks are in: they are inert within a second, and cleanup
# makes the target pristine.
. "$(dirname "$0")/lib.sh"

victim check selfcheck --kind=mix --threads=10
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --sample=4096 --json
attach_await "$VICTIM"
family=$(attach_processes)
for pid in $family; do
	kill -KILL "$pid" 2>/dev/null
done
"$TOOLS/ringwatch" "$VICTIM" inert 1000 || fail "hooks still record a second later"
attach_kill $family
checked check
cleaned_up "$VICTIM"
pristine_check "$VICTIM"
checked check

# A second attach after a kill, without a cleanup in between, adopts what it finds or says so.
attach_begin -p "$VICTIM" --sample=4096 --json
attach_await "$VICTIM"
attach_kill
attach -p "$VICTIM" -d 0.5 --json
case $STATUS in
0)	;;
3)	grep -q cleanup "$ERRORS" || fail "refused without naming cleanup"
	timeout 60 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup" ;;
*)	fail "exit status $STATUS" ;;
esac
pristine_check "$VICTIM"
finished check

# Nothing to clean up is not an error.
victim idle processes --kind=idle
timeout 20 "$MEMATTACH" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>&1
expect "$?" 0 "exit status of a cleanup with nothing to do"
finished idle
