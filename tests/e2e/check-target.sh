#!/bin/sh
# SPDX-License-Identifier: MIT
# check: says what would be done, touches nothing.
. "$(dirname "$0")/lib.sh"

victim truth truth_c
pristine_take "$VICTIM"
timeout 30 "$MEMATTACH" check -p "$VICTIM" >"$WORK/check" 2>"$ERRORS"
expect "$?" 0 "exit status"
for word in malloc free realloc; do
	grep -qw "$word" "$WORK/check" || fail "$word is not among what would be hooked"
done
pristine_check "$VICTIM" --quiet
ended truth
