#!/bin/sh
# SPDX-License-Identifier: MIT
# What counting costs a pair of malloc and free, 13 frames deep, next to nothing attached and to an
# exact session: processor time of the target alone, each way in each round, in another order
# each time; medians, and the ratio to the same round without anything.
#
#	sh tests/bench/counts.sh [ROUNDS [PAIRS]]	7 rounds of 1,000,000 pairs: some minutes
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${MEMATTACH:=$BUILDDIR/cli/memattach}"
: "${CC:=cc}"
work=$(mktemp -d "${TMPDIR:-/tmp}/memattach-counts.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT PIPE TERM
for name in pairs; do
	$CC -std=gnu11 -D_GNU_SOURCE -g -O2 -pthread -I"$SRCDIR" -o "$work/$name" \
		"$SRCDIR/tests/bench/$name.c" "$SRCDIR/tests/bench/bench.c" || exit 1
done
$CC -std=gnu11 -D_GNU_SOURCE -g -O2 -I"$SRCDIR" -o "$work/ringwatch" \
	"$SRCDIR/tests/tools/ringwatch.c" || exit 1
PYTHONDONTWRITEBYTECODE=1 python3 "$SRCDIR/tests/bench/counts.py" "$MEMATTACH" "$work" "$@"
