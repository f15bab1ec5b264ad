#!/bin/sh
# SPDX-License-Identifier: MIT
# A recording whose memattach was killed, or whose disk became full in the midst of it, opens, has
# all but the last interval, says that it has no end, and can be given its names.
. "$(dirname "$0")/lib.sh"
needs sqlite3 jq
rows() { sqlite3 "$WORK/recording" "$1" 2>/dev/null; }
at_least() { [ "$(rows 'SELECT count(*) FROM snapshots')" -ge "$1" ]; }

# says_no_end: the report opens it, warns, and has figures; then symbolize names its frames.
says_no_end() {
	attach report "$WORK/recording" --json
	expect "$STATUS" 0 "exit status of report ($1)"
	json_valid
	grep -q 'has no end' "$ERRORS" || fail "$1: does not say that it has no end"
	[ "$(json .totals.alloc_count)" -gt 0 ] || fail "$1: no figures"
	expect "$(json .session.detached)" null "$1: how it was left"
	expect "$(json '[.sites[].frames[].function] | all(. == null)')" true "$1: no names yet"
	attach symbolize "$WORK/recording"
	expect "$STATUS" 0 "$1: exit status of symbolize"
	[ "$(rows 'SELECT count(*) FROM symbols WHERE file IS NOT NULL')" -gt 0 ] ||
		fail "$1: no names"
	attach report "$WORK/recording@50%"
	expect "$STATUS" 0 "$1: exit status of a moment"
	expect "$(rows 'PRAGMA integrity_check')" ok "$1: the database"
}

victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
for round in $(seq "$(in_full 3 1)"); do
	attach_begin -p "$VICTIM" --sample=4096 --interval=0.05 -o "$WORK/recording"
	attach_await "$VICTIM"
	await 30 at_least $((round * 7)) || fail "no intervals"
	before=$(rows 'SELECT count(*) FROM snapshots')
	# shellcheck disable=SC2046 # process ids
	kill -KILL $(attach_processes) 2>/dev/null
	wait "$ATTACH"
	at_least "$before" || fail "an interval that was there is not any more"
	attach cleanup -p "$VICTIM"
	expect "$STATUS" 0 "exit status of cleanup"
	pristine_check "$VICTIM"
	says_no_end "killed"
done

# Full in the midst: what was there stays.
if is_root && unshare -m sh -c : 2>/dev/null; then
	mkdir "$WORK/small"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size=600k none "$1" || exit 77
		timeout 60 "$2" -p "$3" -d 20 --interval=0.01 --sample=512 -o "$1/recording" \
			>"$4" 2>"$5" </dev/null
		status=$?
		rm -f "$6"*
		cp "$1"/recording* "$(dirname "$6")"
		exit $status' sh "$WORK/small" "$MEMATTACH" "$VICTIM" "$REPORT" "$ERRORS" \
		"$WORK/recording"
	STATUS=$?
	[ "$STATUS" -ne 77 ] || skip "tmpfs can't be mounted"
	expect "$STATUS" 6 "exit status of a session whose disk was full"
	grep -qi 'recorded until .* is kept' "$ERRORS" || fail "not said: $(cat "$ERRORS")"
	pristine_check "$VICTIM"
	until=$(sed -n 's/.*recorded until \([0-9.]*\) s is kept.*/\1/p' "$ERRORS")
	expect "$(rows 'SELECT printf("%.1f", max(time)) FROM snapshots')" "$until" \
		"what is kept, and what was said to be"
	says_no_end "full"
fi
checked check
finished check
