#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of export --to=html with 2,000 sites (make check-targets: 50,000) in a headless
# Chromium: clicks, searches, zooms, switches, keys; no word on the console, no request.
# KEEP_PICTURES=FOLDER: pictures of each view.
. "$(dirname "$0")/lib.sh"
. "$E2E/html.sh"
html_browser
html_record
python3 "$E2E/forge_sites.py" "$WORK/recording" "${SITES:-2000}" 20 || fail "forge_sites.py"
html_drive
json_expect '([.leaks.groups[] | select(.held_by and .site)] | length > 0) and
	.totals.temporary_count != null' true
