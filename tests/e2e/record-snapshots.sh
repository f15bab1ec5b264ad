#!/bin/sh
# SPDX-License-Identifier: MIT
# --snapshot-on: snapshots between intervals, each with its reason; SIGUSR1 takes one and ends
# nothing. --max-recording: a real session in little room says what it gave up.
. "$(dirname "$0")/lib.sh"
needs sqlite3 jq
rows() { sqlite3 "$WORK/recording" "$1" 2>/dev/null; }
has() { [ "$(rows "SELECT count(*) FROM snapshots WHERE reason = $1")" -ge "$2" ]; }

victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json --interval=1000 --snapshot-on=16K,SIGUSR1 \
	--snapshot-on=peak -o "$WORK/recording"
attach_await "$VICTIM"
for count in 1 2 3; do
	kill -USR1 "$ATTACH" || fail "memattach is gone"
	await 30 has 4 "$count" || fail "SIGUSR1 takes no snapshot"
done
truth truth
await 30 has 3 1 || fail "no snapshot of a peak"
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
truth_holds truth truth_c
[ "$(rows 'SELECT count(*) FROM snapshots WHERE reason IN (1, 3)')" -ge 1 ] ||
	fail "no snapshot of what was allocated: $(rows 'SELECT id, reason FROM snapshots')"
expect "$(rows 'SELECT count(*) FROM snapshots WHERE reason = 0')" 1 "snapshots of intervals"
# Each is a moment.
time=$(rows "SELECT printf('%.9f', time + 1e-9) FROM snapshots WHERE reason = 3 LIMIT 1")
attach report --json "$WORK/recording@$time"
expect "$(json .totals.live_bytes)" \
	"$(rows 'SELECT live_bytes FROM snapshots WHERE reason = 3 LIMIT 1')" "the peak"
ended truth

# Growth; and little room. The victim allocates and frees for ever.
victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
rm -f "$WORK/recording"*
attach_begin -p "$VICTIM" --sample=512 --interval=0.01 --snapshot-on=+1K --max-recording=256K \
	-o "$WORK/recording"
attach_await "$VICTIM"
gave_up() { [ "$(rows 'SELECT given_up FROM session')" -ge 1 ]; }
await 90 gave_up || fail "nothing was given up in $(stat -c %s "$WORK/recording") bytes"
attach_end INT
expect "$STATUS" 0 "exit status of a bounded session"
pristine_check "$VICTIM"
size=$(stat -c %s "$WORK/recording")
[ "$size" -le 262144 ] || fail "the recording has $size bytes"
attach report "$WORK/recording"
expect "$STATUS" 0 "exit status of the report"
attach report "$WORK/recording" --json
json_valid
expect "$(json .session.max_recording_bytes)" 262144 "the limit"
[ "$(json .session.snapshots_given_up)" != null ] || fail "nothing was given up in $size bytes"
checked check
finished check

# Values that are none.
for option in --snapshot-on=x --snapshot-on= --snapshot-on=+ --snapshot-on=1M,,2M \
	--max-recording=1K; do
	attach -p $$ -o "$WORK/none" "$option"
	expect "$STATUS" 2 "exit status of $option"
	option=${option%%=*}
	said_one_line "${option#--}: .*is not"
done
attach -p $$ -d 0 --snapshot-on=peak
expect "$STATUS" 2 "exit status without -o"
said_one_line 'goes with a recording'
