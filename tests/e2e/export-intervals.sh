#!/bin/sh
# SPDX-License-Identifier: MIT
# Of samples: the table, the page and the report of several recordings have the interval of each
# figure, as the document has, and it encloses the figure.
. "$(dirname "$0")/lib.sh"
needs jq python3

# record NAME BLOCKS: samples of a process that keeps so many blocks, and frees as many.
record() {
	"$MEMATTACH" run --sample=65536 --json -o "$WORK/$1" -- python3 -c '
import sys
kept = [bytes(2000) for _ in range(int(sys.argv[1]))]
gone = [bytes(2000) for _ in range(int(sys.argv[1]))]
del gone' "$2" >"$REPORT" 2>"$ERRORS" </dev/null || fail "run: status $?"
	attach report --json "$WORK/$1"
	expect "$STATUS" 0 "exit status"
	cp "$REPORT" "$WORK/$1.json"
	json_expect '.totals.alloc_bytes_low < .totals.alloc_bytes_high' true
	json_expect '[.sites[] | select(.alloc_count_low < .alloc_count_high)] | length > 0' true
}

record one 3000
record two 5000
for format in csv html; do
	"$MEMATTACH" export "$WORK/one" --to=$format -o "$WORK/one.$format" 2>"$ERRORS" ||
		fail "export --to=$format"
done
python3 "$E2E/check_export.py" csv "$WORK/one.json" "$WORK/one.csv" || fail "the table"
python3 "$E2E/check_html.py" "$WORK/one.json" "$WORK/one.html" || fail "the page"
attach report --json "$WORK/one" "$WORK/two"
expect "$STATUS" 0 "exit status of a report of two"
schema_valid several
python3 "$E2E/check_several.py" "$REPORT" "$WORK/one.json" "$WORK/two.json" || fail "of several"
json_expect '[.sites[] | select((.by_process | length) == 2 and
	.alloc_bytes_low < .alloc_bytes_high and .free_count_low < .free_count_high)] |
	length > 0' true
