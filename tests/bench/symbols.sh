#!/bin/sh
# SPDX-License-Identifier: MIT
# `make symbols-table`: the tables of docs/SYMBOLS.md, written anew where the document can be.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${CC:=cc}"
: "${CXX:=c++}"
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
export LC_ALL PYTHONDONTWRITEBYTECODE

for tool in python3 addr2line readelf; do
	command -v "$tool" >/dev/null 2>&1 && continue
	echo "symbols: $tool is not installed" >&2
	exit 1
done
set -- --source "$SRCDIR" --symbols "$BUILDDIR/tests/tools/symbols" --cc "$CC" --cxx "$CXX"
[ ! -w "$SRCDIR/docs/SYMBOLS.md" ] || set -- "$@" --document "$SRCDIR/docs/SYMBOLS.md"
exec python3 "$SRCDIR/tests/bench/symbols.py" "$@"
