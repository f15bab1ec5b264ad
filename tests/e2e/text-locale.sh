#!/bin/sh
# SPDX-License-Identifier: MIT
# Text for people: ASCII where the locale is not of UTF-8, in all reports, views, comparisons and
# logs; names as they are where it is, with columns that line up; colour on a terminal only, and
# not with NO_COLOR.
. "$(dirname "$0")/lib.sh"
needs python3
RECORDING=$WORK/日本.memattach
cp "$VICTIMS/wide_names" "$WORK/größe" || fail "no victim"
VICTIMS=$WORK
victim wide größe

# run NAME ARGUMENT...: its output in $WORK/NAME; any good status.
run() {
	run_name=$1
	shift
	"$MEMATTACH" "$@" >"$WORK/$run_name" 2>"$WORK/$run_name.err"
	STATUS=$?
	[ "$STATUS" -le 1 ] || fail "$* ended with $STATUS: $(cat "$WORK/$run_name.err")"
}

# no_high FILE: no byte above 127.
no_high() {
	! LC_ALL=C grep -q '[^ -~	]' "$1" ||
		fail "$2: not ASCII: $(LC_ALL=C grep -m 3 '[^ -~	]' "$1")"
}

pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --leaks -o "$RECORDING"
attach_await "$VICTIM"
tell wide g
answer wide work
attach_end INT
[ "$STATUS" -le 1 ] || fail "exit status $STATUS"
pristine_check "$VICTIM"
no_high "$REPORT" "the report of a session"
run check check -p "$VICTIM"
run lost leaks -p "$VICTIM"
no_high "$WORK/check" "check"
no_high "$WORK/lost" "leaks"
views=$("$MEMATTACH" help --table | sed -n 's/^views	//p')
[ "$(echo "$views" | wc -w)" -ge 13 ] || fail "views are missing: $views"

for locale in C C.UTF-8; do
	LC_ALL=$locale
	run "report.$locale" report "$RECORDING"
	run "trace.$locale" trace -- "$WORK/größe" </dev/null
	run "diff.$locale" diff "$RECORDING" "$RECORDING"
	for view in $views; do
		run "$view.$locale" report "$RECORDING" "$view"
		[ -s "$WORK/$view.$locale" ] || fail "$view printed nothing"
	done
	run "symbolize.$locale" symbolize "$RECORDING"
	run "formats.$locale" export --to=help
	run "help.$locale" help report
done
LC_ALL=C
for view in $views report trace diff symbolize formats help; do
	no_high "$WORK/$view.C" "$view"
done
for view in report trace hotspots tree flame blocks source; do
	grep -q '日本語の関数' "$WORK/$view.C.UTF-8" || fail "$view: the name is not as it is"
	grep -qF '\u65e5\u672c\u8a9e\u306e\u95a2\u6570' "$WORK/$view.C" ||
		fail "$view: the name is not in ASCII"
done
ended wide
note "ASCII in the locale C, names as they are in C.UTF-8: $views, report, trace, diff"

# --- columns, colour ---------------------------------------------------------
python3 "$E2E/check_text.py" "$WORK/hotspots.C.UTF-8" "$MEMATTACH" "$RECORDING" \
	2>"$ERRORS" || fail "the text is not as it should be"
