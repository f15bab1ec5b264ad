#!/bin/sh
# SPDX-License-Identifier: MIT
# Every view straight from -p is what report prints of the recording made meanwhile, as text and as
# JSON; what can't be shown is said in one line.
. "$(dirname "$0")/lib.sh"
needs jq

cd "$SRCDIR" || exit 99	# where the view source looks for files
victim churn churn --threads=1
pristine_take "$VICTIM"

# same MODE ARGUMENTS: one session and its recording, printed alike.
same() {
	mode=$1
	shift
	attach -p "$VICTIM" -d 0.3 --interval=0.1 "$mode" -o "$WORK/recording" --view="$@"
	expect "$STATUS" 0 "exit status of --view=$*"
	[ -s "$REPORT" ] || fail "nothing was printed by --view=$*"
	cp "$REPORT" "$WORK/session"
	attach report "$WORK/recording" "$@"
	expect "$STATUS" 0 "exit status of report $*"
	cmp "$WORK/session" "$REPORT" || fail "report $* differs from --view=$*"
}

for view in overview hotspots tree flame histogram timeline temporary peak lifetimes blocks \
	filter source realloc threads
do
	dealt 3 || continue
	same --exact "$view"
	same --exact "$view" --json
done
for view in overview hotspots flame histogram lifetimes; do	# weights are no whole numbers
	dealt 2 || continue
	same --sample=64K "$view" --json
done
same --exact tree --reverse --by=calls --threshold=2 --depth=4
same --exact hotspots --by=bytes --top=2 --inline=no --just-function-name

# The view leaks, with what was found in memory.
attach -p "$VICTIM" -d 0.3 $EXACT -o "$WORK/recording" --view=leaks
expect "$STATUS" 0 "exit status of --view=leaks"
grep -q 'definitely lost' "$REPORT" || fail "no leak report: $(cat "$REPORT")"
! grep -q 'sites by live bytes' "$REPORT" || fail "more than the leaks"
cp "$REPORT" "$WORK/session"
attach report "$WORK/recording" --view=leaks
cmp "$WORK/session" "$REPORT" || fail "report leaks differs from --view=leaks"
pristine_check "$VICTIM"

# refused ARGUMENTS: one line, nothing touched.
refused() {
	pattern=$1
	shift
	attach "$@"
	expect "$STATUS" 2 "exit status of $*"
	said_one_line "$pattern"
}

refused 'no view .heap.*overview' -p "$VICTIM" -d 0 --view=heap
refused 'go with' -p "$VICTIM" -d 0 --by=calls
refused 'use --exact' -p "$VICTIM" -d 0 --view=temporary --sample=64K
refused "'most'" -p "$VICTIM" -d 0 --view=hotspots --by=most
refused 'overview, .*leaks' report "$WORK/recording" heap
refused 'tree: No such file' report "$WORK/recording" tree flame	# several recordings
refused 'all of the process' report "$WORK/recording" timeline --site=1
refused 'percentage' report "$WORK/recording" tree --threshold=200
refused 'no such thread' report "$WORK/recording" tree --thread=nobody
refused 'as a whole' report "$WORK/recording" lifetimes --thread=1
refused 'all of the process' report "$WORK/recording" threads --thread=1
refused 'range' report "$WORK/recording" filter --size=9-3
refused 'go with' report "$WORK/recording" --reverse

# A recording from before sites kept their peak, and how long blocks lived. SQLite 3.35 and later.
if sqlite3 :memory: 'CREATE TABLE t(a, b); ALTER TABLE t DROP COLUMN a' 2>/dev/null; then
	for column in at_peak_bytes at_peak_count size_low size_high sizes_0 sizes_1 sizes_2 \
		sizes_3 alloc_count_low alloc_count_high alloc_bytes_low alloc_bytes_high \
		free_count_low free_count_high free_bytes_low free_bytes_high live_count_low \
		live_count_high peak_live_bytes_low peak_live_bytes_high temporary_count_low \
		temporary_count_high; do
		sqlite3 "$WORK/recording" "ALTER TABLE sites DROP COLUMN $column" || exit 99
	done
	sqlite3 "$WORK/recording" 'DROP TABLE site_lives'
	refused 'older memattach' report "$WORK/recording" peak
	refused 'older memattach' report "$WORK/recording" hotspots --by=peak
	refused 'older memattach' report "$WORK/recording" lifetimes
	attach report "$WORK/recording" hotspots --json
	expect "$STATUS" 0 "exit status of hotspots"
	expect "$(json '.sites[0].at_peak_bytes')" null "an unknown figure"
fi
ended churn
