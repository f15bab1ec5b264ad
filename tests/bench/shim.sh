#!/bin/sh
# SPDX-License-Identifier: MIT
# `make bench BENCH=shim`, a part of `make bench`: what the shim adds to a call, path by path;
# docs/BENCHMARKS.md is brought up to date where it can be.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
SHIM=$BUILDDIR/inject/shim/memattach-shim.so
export LC_ALL PYTHONDONTWRITEBYTECODE SHIM

command -v python3 >/dev/null 2>&1 || {
	echo "shim: python3 is not installed" >&2
	exit 1
}
make -s -C "$BUILDDIR/tests/unit" shim_cost || exit 1
set -- "$BUILDDIR/tests/unit/shim_cost"
[ ! -w "$SRCDIR/docs/BENCHMARKS.md" ] || set -- "$@" --document "$SRCDIR/docs/BENCHMARKS.md"
exec python3 "$SRCDIR/tests/bench/shim.py" "$@"
