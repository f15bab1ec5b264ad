#!/bin/sh
# SPDX-License-Identifier: MIT
# `make bench BENCH=unwinding`, a part of `make bench`: how fast stack copies are unwound and
# addresses named, and whether the answers are libunwind's and llvm-symbolizer's;
# docs/BENCHMARKS.md is brought up to date where it can be. The large program takes some minutes
# to compile.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${CXX:=c++}"
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
export LC_ALL PYTHONDONTWRITEBYTECODE

for tool in python3 readelf c++filt llvm-symbolizer; do
	command -v "$tool" >/dev/null 2>&1 && continue
	echo "unwinding: $tool is not installed" >&2
	exit 1
done
make -s -C "$BUILDDIR/tests/tools" symbols unwind_speed || exit 1
set -- --tools "$BUILDDIR/tests/tools" --cxx "$CXX"
[ ! -w "$SRCDIR/docs/BENCHMARKS.md" ] || set -- "$@" --document "$SRCDIR/docs/BENCHMARKS.md"
exec python3 "$SRCDIR/tests/bench/unwinding.py" "$@"
