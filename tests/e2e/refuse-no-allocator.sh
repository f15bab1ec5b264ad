#!/bin/sh
# SPDX-License-Identifier: MIT
# A program with no allocator that we know (as Go's are), and a 32-bit one.
. "$(dirname "$0")/lib.sh"

victim golike golike
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1
expect "$STATUS" 3 "exit status"
said_one_line 'allocator|no libc|malloc'
# nor is there a heap to be found in its memory
attach -p "$VICTIM" --leaks -d 0 --snapshot=stop
expect "$STATUS" 3 "exit status of a leak report"
said_one_line 'no allocator.*heap'
pristine_check "$VICTIM" --quiet
ended golike

# shellcheck disable=SC2086
if $CC -m32 -nostdlib -static -o "$WORK/golike32" "$SRCDIR/tests/victims/golike32.S" \
	2>/dev/null && "$WORK/golike32" </dev/null >/dev/null 2>&1; then
	background golike32 "$WORK/golike32"
	await 10 grep -q ready "$WORK/golike32.out" || fail "not ready"
	attach -p "$LAST" -d 1
	expect "$STATUS" 3 "exit status"
	said_one_line '32'
	kill -0 "$LAST" || fail "the 32-bit process is gone"
else
	note "no 32-bit programs here"
fi
