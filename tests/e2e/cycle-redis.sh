#!/bin/sh
# SPDX-License-Identifier: MIT
# CYCLES attaches and detaches in a row on a loaded redis: no failure, nothing grows,
# no client sees an error.
. "$(dirname "$0")/lib.sh"
needs jq redis-server redis-benchmark
. "$E2E/servers.sh"
. "$E2E/cycles.sh"
: "${CYCLES:=$(in_full 8 3)}"
redis_start
redis_load
cycles "$VICTIM" "$CYCLES"
redis_load_end
