#!/bin/sh
# SPDX-License-Identifier: MIT
# The target ends while it is watched: status 4, and what was seen is reported.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_c
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
truth truth
tell truth q
attach_wait
expect "$STATUS" 4 "exit status"
json_valid
json_expect .session.detached target-ended
truth_holds truth truth_c

# ... also when it is killed,
victim truth truth_c
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
truth truth
kill -KILL "$VICTIM_SELF"
attach_wait
expect "$STATUS" 4 "exit status after SIGKILL"
json_expect .session.detached target-ended
truth_holds truth truth_c

# ... and when it executes another program.
victim exec processes --kind=exec
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
tell exec e
attach_wait
expect "$STATUS" 4 "exit status after exec"
json_expect .session.detached target-ended
await 10 answered exec ready || fail "the new program is not there"
"$TOOLS/ringwatch" "$VICTIM" gone 0 || fail "something of ours is in the new program"
finished exec
