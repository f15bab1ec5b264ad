#!/bin/sh
# SPDX-License-Identifier: MIT
# export --to=speedscope, opened in speedscope's own page in a headless Chromium: sums of its
# profiles, totals and selfs of their functions are ours. KEEP_PICTURES=FOLDER: pictures.
. "$(dirname "$0")/lib.sh"
. "$E2E/npm.sh"
needs jq
browser
readers_modules

victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --exact --json -o "$WORK/recording"
attach_await "$VICTIM"
truth truth
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
ended truth
"$MEMATTACH" export "$WORK/recording" --to=speedscope -o "$WORK/speedscope.json" 2>"$ERRORS" ||
	fail "export --to=speedscope"
attach report --json "$WORK/recording"
mkdir "$WORK/profile"
timeout -k 10 100 node "$E2E/speedscope_drive.mjs" "$MODULES" "$BROWSER" "$WORK/speedscope.json" \
	"$REPORT" "$WORK/profile" ${KEEP_PICTURES:+"$KEEP_PICTURES"} 2>&1 || fail "speedscope"
