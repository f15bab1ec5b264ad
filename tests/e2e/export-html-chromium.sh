#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of export --to=html with 50,000 sites in a headless Chromium: clicks, searches, zooms,
# switches, keys; no word on the console, no request. KEEP_PICTURES=FOLDER: pictures of each view.
. "$(dirname "$0")/lib.sh"
. "$E2E/html.sh"
html_browser
html_record
python3 "$E2E/forge_sites.py" "$WORK/recording" "${SITES:-50000}" 20 || fail "forge_sites.py"
html_drive
json_expect '[.leaks.groups[] | select(.held_by and .site)] | length > 0' true
json_expect '.totals.temporary_count != null' true
