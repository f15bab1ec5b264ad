#!/bin/sh
# SPDX-License-Identifier: MIT
# Targets that fork, vfork, or create threads without a pause: they and their children live on.
. "$(dirname "$0")/lib.sh"
needs jq python3
for kind in fork vfork; do
	victim "$kind" processes --kind="$kind"
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 1.5 --sample=4096 --json
	report_good
	pristine_check "$VICTIM"
	finished "$kind"
done

victim churn churn --threads=6
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1.5 --sample=4096 --json
report_good
pristine_check "$VICTIM"
checked churn
finished churn
