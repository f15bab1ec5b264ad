#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo server: its leak is what the report names first.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
demo_server_start
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 2 --sample=512 --json
report_good 200
pristine_check "$VICTIM"
json '.sites[].frames[].function' | grep -q audit_trail_append ||
	fail "the leak is not in the report"

# For people: a text that names the function, and what was watched. By default: some thirty
# allocations a second of such a server are sampled, a session's life takes half of one.
attach -p "$VICTIM" -d 3 --leaks
expect "$STATUS" 1 "exit status of --leaks"
grep -q 'definitely lost: .* of type `struct audit_record`, assigned to `record`' "$REPORT" ||
	fail "--leaks does not name type and variable: $(grep 'lost:' "$REPORT")"
grep -q audit_trail_append "$REPORT" || fail "--leaks does not name the function"
pristine_check "$VICTIM"
