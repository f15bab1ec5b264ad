#!/bin/sh
# SPDX-License-Identifier: MIT
# Addresses get at least the function, file, line and inlined functions that binutils addr2line
# finds, and no wrong ones: those of real stacks, judged by the source itself, and many all over
# a C++ library's code, with and without debug information. All levels: make symbols-table
. "$(dirname "$0")/lib.sh"
needs python3 addr2line readelf "${CXX%% *}"

python3 "$SRCDIR/tests/bench/symbols.py" --check --source "$SRCDIR" --symbols "$TOOLS/symbols" \
	--cc "$CC" --cxx "$CXX" --levels=-O0,-O2 --count 1500 >"$WORK/tables" 2>"$ERRORS" ||
	fail "names are worse than addr2line's: $(cat "$WORK/tables")"
cat "$WORK/tables"
