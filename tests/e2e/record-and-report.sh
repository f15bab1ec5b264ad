#!/bin/sh
# SPDX-License-Identifier: MIT
# -o keeps a recording that sqlite3 and `report` can read; a full disk is said, not suffered.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json -o "$WORK/recording"
attach_await "$VICTIM"
truth truth
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
truth_holds truth truth_c
cp "$REPORT" "$WORK/first"
attach report --json "$WORK/recording"
expect "$STATUS" 0 "exit status of report"
json_valid
truth_holds truth truth_c
attach report "$WORK/recording"
expect "$STATUS" 0 "exit status of report as text"
grep -q case_malloc "$REPORT" || fail "the text does not name the functions"
if command -v sqlite3 >/dev/null; then
	sqlite3 "$WORK/recording" .schema | grep -qi 'create table' || fail "no SQLite database"
	expect "$(sqlite3 "$WORK/recording" 'pragma integrity_check')" ok "the database"
fi
ended truth

head -c 5000 "$WORK/recording" >"$WORK/half"
timeout 20 "$MEMATTACH" report "$WORK/half" >"$WORK/out" 2>"$WORK/err"
status=$?
[ "$status" -lt 128 ] || fail "report crashes on half a recording"
attach report /nonexistent
said_one_line 'nonexistent'
attach report /dev/null
said_one_line 'null'
