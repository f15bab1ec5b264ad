#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of export FILE@MOMENT --to=html in a headless Chromium: it ends at the moment, and says
# of what only a recording's end knows that it is not there.
. "$(dirname "$0")/lib.sh"
. "$E2E/html.sh"
. "$E2E/exports.sh"
html_browser
target_recorded 2 0.1
html_drive @75%
json_expect '.session.recorded_seconds > .session.duration' true
