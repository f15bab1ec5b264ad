#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian's redis under load: sampled, valid, pristine, and no error for the clients.
. "$(dirname "$0")/lib.sh"
needs jq python3 redis-server redis-benchmark
. "$E2E/servers.sh"
redis_start
redis_load
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 3 --sample=4096 --json
report_good 200
pristine_check "$VICTIM"
redis_load_end
