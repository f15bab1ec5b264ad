#!/bin/sh
# SPDX-License-Identifier: MIT
# CYCLES attaches and detaches in a row on 64 busy threads: no failure, nothing grows.
. "$(dirname "$0")/lib.sh"
needs jq
: "${CYCLES:=$(in_full 3 1)}"
victim check selfcheck --kind=malloc-loop --threads=64
. "$E2E/cycles.sh"
cycles "$VICTIM" "$CYCLES"
checked check
finished check
