#!/bin/sh
# SPDX-License-Identifier: MIT
# Targets under seccomp filters: entered where the filter allows it, refused where it does not.
# With "kill", an attach that just tried would kill its target.
. "$(dirname "$0")/lib.sh"
needs jq
for kind in allow many; do
	victim "$kind" seccomped --kind="$kind"
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.3 --json
	case $STATUS in
	0)	json_expect .session.detached pristine ;;
	# it can't be read where we are under one, too
	3)	said_one_line 'seccomp' ;;
	*)	fail "exit status $STATUS" ;;
	esac
	pristine_check "$VICTIM" --quiet
	finished "$kind"
done

for kind in errno kill; do
	victim "$kind" seccomped --kind="$kind"
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.3
	expect "$STATUS" 3 "exit status for $kind"
	said_one_line 'seccomp'
	pristine_check "$VICTIM" --quiet
	finished "$kind"
done
