#!/bin/sh
# SPDX-License-Identifier: MIT
# A target that loads and unloads libraries all the time.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim storm truth_dlopen "$VICTIMS"
tell storm s
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1.5 --sample=4096 --json
# A library's own allocations, some 7 %, are read when it has been closed.
UNWOUND=80 report_good
tell storm x
answer storm storm
pristine_check "$VICTIM"
ended storm
