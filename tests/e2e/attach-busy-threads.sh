#!/bin/sh
# SPDX-License-Identifier: MIT
# 64 busy threads; the report says for how long they were stopped at the most.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim check selfcheck --kind=malloc-loop --threads=64
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1.5 --sample=65536 --json
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
checked check
finished check	# before anything else is done, which would take its turns among 64
report_good 50
[ "$(json .session.attach_stop_us_max)" -gt 0 ] || fail "no stop time"
