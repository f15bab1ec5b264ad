#!/bin/sh
# SPDX-License-Identifier: MIT
# export --to=speedscope, opened in speedscope's own page in a headless Chromium: sums of its
# profiles, totals and selfs of their functions are ours. KEEP_PICTURES=FOLDER: pictures.
. "$(dirname "$0")/lib.sh"
. "$E2E/npm.sh"
. "$E2E/exports.sh"
needs jq python3
browser
readers_modules

target_recorded 1
exported speedscope speedscope.json
mkdir "$WORK/profile"
timeout -k 10 100 node "$E2E/speedscope_drive.mjs" "$MODULES" "$BROWSER" "$WORK/speedscope.json" \
	"$REPORT" "$WORK/profile" ${KEEP_PICTURES:+"$KEEP_PICTURES"} 2>&1 || fail "speedscope"
