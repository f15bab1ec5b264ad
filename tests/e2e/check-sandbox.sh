#!/bin/sh
# SPDX-License-Identifier: MIT
# The process that parses what the target could have made up holds no privilege.
. "$(dirname "$0")/lib.sh"

victim check selfcheck --kind=malloc-loop --threads=2
attach_begin -p "$VICTIM" --sample=4096
attach_await "$VICTIM"
analysts=0
for pid in $(attach_processes); do
	seccomp=$(sed -n 's/^Seccomp:[[:space:]]*//p' "/proc/$pid/status")
	[ "$seccomp" = 2 ] || continue
	analysts=$((analysts + 1))
	for set in CapEff CapPrm CapInh CapAmb; do
		held=$(sed -n "s/^$set:[[:space:]]*0*//p" "/proc/$pid/status")
		expect "$held" "" "$set of the analyst"
	done
	expect "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "/proc/$pid/status")" 1 NoNewPrivs
done
expect "$analysts" 1 "processes in a seccomp filter"
expect "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$VICTIM/status")" 0 "tracer while watching"
attach_end INT
expect "$STATUS" 0 "exit status"
finished check
