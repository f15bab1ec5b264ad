#!/bin/sh
# SPDX-License-Identifier: MIT
# No room for the ring under the target's own limits: refused before anything is touched.
. "$(dirname "$0")/lib.sh"
needs prlimit
victim small processes --kind=idle
size=$(sed -n 's/^VmSize:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$VICTIM/status")
prlimit --pid "$VICTIM" --as=$(((size + 1024) * 1024)) || skip "prlimit is not allowed"
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1
expect "$STATUS" 3 "exit status"
said_one_line 'memory|limit|RLIMIT_AS'
pristine_check "$VICTIM" --quiet
finished small
