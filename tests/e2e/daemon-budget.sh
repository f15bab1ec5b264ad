#!/bin/sh
# SPDX-License-Identifier: MIT
# What memattachd's sessions may spend together: processes that work hard get the same percentage
# of their own time, less than their rule allows, and who is idle no more than they, since it may
# begin to work; when one ends, the others get its part. All are left as they were.
. "$(dirname "$0")/lib.sh"
needs jq
. "$E2E/daemon_lib.sh"
cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS/" || fail "no copy"

victim first churn --threads=1
FIRST=$VICTIM
victim second churn --threads=1
SECOND=$VICTIM
victim idle ticking --every=1000
IDLE=$VICTIM
pristine_take "$FIRST"
rules "[daemon]
max-overhead = 0.1%
[watch busy]
exe = $VICTIMS/churn
overhead = 20%
[watch idle]
exe = $VICTIMS/ticking
overhead = 20%"

# budget PID: what it may spend now.
budget() {
	"$MEMATTACH" status --control="$control" --json 2>/dev/null |
		jq -r --argjson pid "$1" '.processes[] | select(.pid == $pid) | .budget_percent'
}
# is PID CONDITION: of a budget, by awk, as b.
is() { budget "$1" | awk "{ b = \$1 } END { exit !(NR == 1 && ($2)) }"; }

begin
armed "$FIRST"
armed "$SECOND"
armed "$IDLE"
await 60 is "$FIRST" 'b < 2' || fail "the first may spend $(budget "$FIRST") %"
await 60 is "$SECOND" 'b < 2' || fail "the second may spend $(budget "$SECOND") %"
await 60 is "$IDLE" 'b < 2' || fail "an idle one may spend $(budget "$IDLE") %"
both=$(budget "$FIRST")
note "$both % and $(budget "$SECOND") % of their own time, the idle one $(budget "$IDLE") %"

VICTIM_SELF=$SECOND
finished second
await 60 is "$FIRST" "b > 1.05 * $both" ||
	fail "the first may spend $(budget "$FIRST") % since it is alone, $both % before"
note "$(budget "$FIRST") % since it is alone"
end
pristine_check "$FIRST"
VICTIM_SELF=$FIRST
finished first
VICTIM_SELF=$IDLE
finished idle
