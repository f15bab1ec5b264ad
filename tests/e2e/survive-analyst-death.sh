#!/bin/sh
# SPDX-License-Identifier: MIT
# The analyst is killed: the keeper detaches cleanly and says what happened.
. "$(dirname "$0")/lib.sh"

victim check selfcheck --kind=mix --threads=10
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --sample=4096 --json
attach_await "$VICTIM"
analyst=$(attach_analysts)
[ -n "$analyst" ] || fail "no process of memattach is in a seccomp filter"
kill -KILL "$analyst"
attach_wait
expect "$STATUS" 6 "exit status"
[ -s "$ERRORS" ] || fail "nothing was said"
pristine_check "$VICTIM"
checked check
finished check
