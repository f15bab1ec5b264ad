#!/bin/sh
# SPDX-License-Identifier: MIT
# Addresses all over a C++ program of templates get exactly llvm-symbolizer's answers: as many
# inlined functions, and of each function, file, line and column; by gcc and by clang, with and
# without optimisation. A program of 100 MB, and how fast: make bench BENCH=unwinding
. "$(dirname "$0")/lib.sh"
needs python3 readelf nm c++filt llvm-symbolizer "${CXX%% *}"

# same_answers COMPILER FLAGS
same_answers() {
	python3 "$SRCDIR/tests/bench/symbols_speed.py" --check --symbols "$TOOLS/symbols" \
		--cxx "$1" --flags="$2" --units 1 --types 1 --count 3000 >"$WORK/answers" \
		2>"$ERRORS" || fail "$1 $2: $(cat "$WORK/answers")"
}

same_answers "$CXX" '-O2 -g'
same_answers "$CXX" '-O0 -g'
! command -v clang++ >/dev/null 2>&1 || same_answers clang++ '-O1 -g'
