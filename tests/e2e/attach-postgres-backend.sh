#!/bin/sh
# SPDX-License-Identifier: MIT
# A PostgreSQL backend of pgbench.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
postgres_start
postgres_load
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 3 --sample=4096 --json
report_good 200
pristine_check "$VICTIM"
postgres_load_end
