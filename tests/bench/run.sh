#!/bin/sh
# SPDX-License-Identifier: MIT
# `make bench`: what memattach costs, next to heaptrack and Massif, measured in one run
# (docs/BENCHMARKS.md). Builds the programs, waits for a quiet machine, measures, keeps the
# figures in the build folder, prints the tables and brings the document up to date.
#
#	make bench		about 7 minutes
#	make bench QUICK=1	a minute, to see that all works: 2 repetitions, a tenth of the
#				work, into a folder of its own; the document stays as it is
#	make bench ONLY=unwinding	stacks and names alone (unwinding.sh)
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${MEMATTACH:=$BUILDDIR/cli/memattach}"
: "${CC:=cc}"
: "${CXX:=c++}"
: "${QUICK:=}"
: "${ONLY:=}"
: "${QUIET_LOAD:=3}"	# wait until the load average is at most this
: "${QUIET_WAIT:=600}"	# but not longer than so many seconds
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
export LC_ALL PYTHONDONTWRITEBYTECODE MEMATTACH CC CXX SRCDIR BUILDDIR

bench=$SRCDIR/tests/bench
results=$BUILDDIR/tests/bench/results
[ -z "$QUICK" ] || results=$BUILDDIR/tests/bench/results-quick
document=$SRCDIR/docs/BENCHMARKS.md
programs=$(mktemp -d "${TMPDIR:-/tmp}/memattach-bench.XXXXXX") || exit 1
trap 'rm -rf "$programs"' EXIT
trap 'exit 1' HUP INT PIPE TERM

die() {
	echo "bench: $*" >&2
	exit 1
}

[ "$ONLY" != unwinding ] || exec sh "$SRCDIR/tests/bench/unwinding.sh"

build() {
	flags="-D_GNU_SOURCE -g -O2 -pthread -I$SRCDIR"
	# shellcheck disable=SC2086
	$CC -std=gnu11 $flags -c -o "$programs/bench.o" "$bench/bench.c" || die "no $CC?"
	for name in slots threads heartbeat; do
		# shellcheck disable=SC2086
		$CC -std=gnu11 $flags -o "$programs/$name" "$bench/$name.c" \
			"$programs/bench.o" || die "$name does not build"
	done
	# shellcheck disable=SC2086
	$CXX $flags -o "$programs/containers" "$bench/containers.cc" "$programs/bench.o" ||
		die "containers does not build"
	# shellcheck disable=SC2086
	$CC -std=gnu11 $flags -o "$programs/ringwatch" "$SRCDIR/tests/tools/ringwatch.c" ||
		die "ringwatch does not build"
	# shellcheck disable=SC2086
	$CC -std=gnu11 $flags -o "$programs/leak_mark" "$bench/leak_mark.c" \
		"$BUILDDIR/src/libmemattach.a" "$BUILDDIR/inject/libinject.a" \
		"$BUILDDIR/src/base/libbase.a" || die "leak_mark does not build"
}

load() { cut -d' ' -f1 /proc/loadavg; }

is_quiet() { load | awk -v most="$QUIET_LOAD" '{ exit !($1 <= most) }'; }

await_quiet() {
	end=$(($(date +%s) + QUIET_WAIT))
	is_quiet || echo "bench: load average $(load), waiting for quiet" >&2
	until is_quiet; do
		if [ "$(date +%s)" -ge "$end" ]; then
			echo "bench: load average still $(load); the document will say so" >&2
			return
		fi
		sleep 5
	done
}

# A folder that git leaves alone, wherever the build folder is.
make_results() {
	mkdir -p "$results" || die "can't make $results"
	[ -f "$results/.gitignore" ] || echo '*' >"$results/.gitignore"
}

command -v python3 >/dev/null 2>&1 || die "python3 is not installed"
[ -x "$MEMATTACH" ] || die "$MEMATTACH is not there; make it first"
for tool in heaptrack gdb valgrind; do
	command -v "$tool" >/dev/null 2>&1 || echo "bench: $tool is not installed, left out" >&2
done
build
make_results
if [ -n "$QUICK" ]; then
	set -- --repetitions 2 --scale 0.1
else
	await_quiet
	set --
fi
python3 "$bench/measure.py" --programs "$programs" --results "$results" "$@" || die "no figures"
set -- "$results"
if [ -z "$QUICK" ] && [ -w "$document" ]; then
	set -- "$@" --document "$document"
fi
python3 "$bench/tables.py" "$@"
[ -z "$QUICK" ] || exit 0
set -- "$programs/leak_mark"
[ ! -w "$document" ] || set -- "$@" "$document"
python3 "$bench/leaks.py" "$@"
sh "$bench/unwinding.sh"
