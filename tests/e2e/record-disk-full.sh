#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that is full while -o is written: one line says so, the target is restored.
. "$(dirname "$0")/lib.sh"

needs jq
is_root || skip "needs root, to mount a small file system"
mkdir "$WORK/small"
unshare -m sh -c : 2>/dev/null || skip "no mount namespaces here"
victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
# shellcheck disable=SC2016
unshare -m sh -c 'mount -t tmpfs -o size=16k none "$1" || exit 77
	exec timeout 60 "$2" -p "$3" -d 2 --sample=512 -o "$1/recording"' \
	sh "$WORK/small" "$MEMATTACH" "$VICTIM" >"$WORK/out" 2>"$ERRORS"
STATUS=$?
[ "$STATUS" -ne 77 ] || skip "tmpfs can't be mounted"
case $STATUS in [1-6]) ;; *) fail "exit status $STATUS" ;; esac
grep -qiE 'space|full|disk' "$ERRORS" || fail "the message does not say why: $(cat "$ERRORS")"
pristine_check "$VICTIM"

# full_at SECONDS [SECONDS]: a disk that is full from then on (to then, if given), of 8 seconds.
# The recording is copied to $WORK/copy.
full_at() {
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size=16m none "$1" || exit 77
		(sleep "$4"; cat /dev/zero >"$1/ballast" 2>&1
			[ "$5" ] || exit
			sleep "$5"
			rm "$1/ballast") &
		timeout 60 "$2" -p "$3" -d 8 --interval=0.2 -o "$1/recording"
		status=$?
		wait
		rm "$1/ballast" 2>&1
		"$2" report --json "$1/recording" >"$1/../copy.json"
		exit "$status"' sh "$WORK/small" "$MEMATTACH" "$VICTIM" "$1" "$2" \
		>"$WORK/out" 2>"$ERRORS"
	STATUS=$?
}
seconds() { jq '.session.duration | floor' "$WORK/copy.json"; }

full_at 3 1
expect "$STATUS" 0 "exit status of a recording that found room again: $(cat "$ERRORS")"
grep -q 'no room on the disk' "$ERRORS" && grep -q 'there is room again' "$ERRORS" ||
	fail "not said: $(cat "$ERRORS")"
expect "$(seconds)" 8 "seconds in it"
pristine_check "$VICTIM"
full_at 3 ""
expect "$STATUS" 6 "exit status of a recording that found no room"
grep -q 'what was recorded until [2-7][.].* is kept' "$ERRORS" || fail "not said: $(cat "$ERRORS")"
[ "$(seconds)" -ge 2 ] && [ "$(seconds)" -lt 8 ] || fail "$(seconds) s are in it"
pristine_check "$VICTIM"

# A place where nothing can be written is refused before the target is touched.
attach -p "$VICTIM" -d 1 -o /nonexistent/recording
case $STATUS in 2 | 3) ;; *) fail "exit status $STATUS for a folder that is not there" ;; esac
said_one_line 'nonexistent'
checked check
finished check
