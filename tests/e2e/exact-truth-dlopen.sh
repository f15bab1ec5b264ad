#!/bin/sh
# SPDX-License-Identifier: MIT
# Frames of libraries that were closed, or replaced at the same address, keep their right names.
. "$(dirname "$0")/lib.sh"
needs jq python3
victim truth truth_dlopen "$VICTIMS"
exact_session truth truth_dlopen,plug_a.so,plug_b.so
grep '^same_address' "$WORK/truth.out"
! grep -q '^same_address 0 ' "$WORK/truth.out" || fail "no address was reused"
ended truth
