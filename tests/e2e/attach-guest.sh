#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that runs a virtual machine: its guest goes on, and the thread that the kernel has put
# among the program's own (KVM's worker since Linux 6.14), which never stops, is not waited for.
. "$(dirname "$0")/lib.sh"

"$VICTIMS/guest" </dev/null >"$WORK/probe" 2>&1
[ $? -ne 77 ] || skip "no virtual machine can be made here (/dev/kvm)"
victim guest guest
pristine_take "$VICTIM"
note "threads: $(cat "/proc/$VICTIM/task"/*/comm | tr '\n' ' ')"
for options in --sample=64 --loader=map --exact --leaks; do
	attach -p "$VICTIM" -d 1 --json "$options"
	[ "$STATUS" -eq 0 ] || fail "$options: exit status $STATUS"
	json_expect .session.detached pristine
	[ "$options" != --exact ] || json_expect '.totals.alloc_count > 100' true
	checked guest
	pristine_check "$VICTIM"
done
finished guest
