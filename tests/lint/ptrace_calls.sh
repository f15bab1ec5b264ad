#!/bin/sh
# SPDX-License-Identifier: MIT
# ptrace() has one calling file, inject/tracee/tracee.c: every stop goes through it, so
# every stop has its release. The tests' own programs may call it.
. "$(dirname "$0")/lib.sh"
call='(^|[^A-Za-z0-9_])ptrace[[:space:]]*\(|(SYS|__NR)_ptrace'

for file in $(files_in 'src inject cli' '*.c' '*.h' '*.S' | xargs grep -l ptrace); do
	[ "$file" != inject/tracee/tracee.c ] || continue
	for line in $(without_comments "$file" | grep -nE "$call" | cut -d: -f1); do
		problem "$file:$line: ptrace() is called by inject/tracee/tracee.c alone"
	done
done
verdict
