#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of export --to=html of a PostgreSQL backend at work, in a headless Chromium.
# KEEP_PICTURES=FOLDER: pictures of each view.
. "$(dirname "$0")/lib.sh"
. "$E2E/html.sh"
. "$E2E/servers.sh"
html_browser
postgres_start
postgres_load
pristine_take "$VICTIM"
attach -p "$VICTIM" -d "${SECONDS_WATCHED:-4}" --sample=2048 --leaks --json --interval=0.25 \
	-o "$WORK/recording"
[ "$STATUS" -le 1 ] || fail "exit status $STATUS"	# 1: something is lost
STATUS=0
report_good 200
pristine_check "$VICTIM"
postgres_load_end
UP_AND_DOWN=1	# what it holds at one moment says nothing of the next
export UP_AND_DOWN
html_drive
