#!/bin/sh
# SPDX-License-Identifier: MIT
# What is counted equals the truth, of each kind: totals, the trend of live bytes, sizes, sites;
# with threads that free each other's blocks, all calls of C, and C++. So says an exact session.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/counts_lib.sh"
needs jq python3

for kind in totals histogram sites; do
	victim threads truth_threads --threads=6 --rounds=3000
	counts_session threads truth_threads "$kind" --interval=0.05
	ended threads
done
for kind in c cxx; do
	victim "$kind" "truth_$kind"
	counts_session "$kind" "truth_$kind" sites
	ended "$kind"
done

victim c truth_c
counts_session c truth_c sites
cp "$REPORT" "$WORK/counts.json"
ended c
victim c truth_c
exact_session c truth_c
ended c
python3 "$E2E/check_counts.py" --same "$WORK/counts.json" "$REPORT" ||
	fail "an exact session says something else"

# From the first allocation on, before there are rules for its libraries.
for mode in counts exact; do
	"$MEMATTACH" run --$mode --json -- "$VICTIMS/truth_c" <<END >"$WORK/run.out" 2>"$ERRORS" ||
g
q
END
		fail "run: $?"
	tail -n 1 "$WORK/run.out" >"$WORK/$mode.json"
done
python3 "$E2E/check_counts.py" --same "$WORK/counts.json" "$WORK/exact.json" ||
	fail "an exact run says something else"
cp "$WORK/counts.json" "$REPORT"
json_valid
json_expect .counts.kind sites
