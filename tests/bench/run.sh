#!/bin/sh
# SPDX-License-Identifier: MIT
# `make bench`: what memattach costs, next to other tools, measured in one run
# (docs/BENCHMARKS.md). Builds the programs, waits for a quiet machine, measures, keeps the
# figures in the build folder, prints the tables and brings the document up to date.
#
#	make bench			attach, and three programs: about 7 minutes
#	make bench BENCH=programs	seven programs, 1 to 8 threads, all tools: an hour or two
#	make bench BENCH=servers	redis, nginx, memcached, PostgreSQL under load
#	make bench BENCH=allocators	glibc, jemalloc, mimalloc, tcmalloc
#	make bench BENCH=unwinding	stacks and names (unwinding.sh)
#	make bench BENCH=shim		what the shim adds to a call (shim.sh)
#	make bench QUICK=1 [BENCH=...]	a minute, to see that all works, into a folder of its
#					own; the document stays as it is
#
# Others, in the environment: BENCH_OPTIONS, given to the script that measures
# (--repetitions, --threads, --only, --scale, --full: see its --help).
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${MEMATTACH:=$BUILDDIR/cli/memattach}"
: "${CC:=cc}"
: "${CXX:=c++}"
: "${QUICK:=}"
: "${BENCH:=}"
: "${BENCH_OPTIONS:=}"
: "${QUIET_LOAD:=3}"	# wait until the load average is at most this
: "${QUIET_WAIT:=600}"	# but not longer than so many seconds
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
export LC_ALL PYTHONDONTWRITEBYTECODE MEMATTACH CC CXX SRCDIR BUILDDIR

die() {
	echo "bench: $*" >&2
	exit 1
}

case $BENCH in
unwinding | shim) exec sh "$SRCDIR/tests/bench/$BENCH.sh" ;;
esac

# shellcheck source=tests/bench/build.sh
. "$SRCDIR/tests/bench/build.sh"
results=$BUILDDIR/tests/bench/results
[ -z "$QUICK" ] || results=$BUILDDIR/tests/bench/results-quick
[ -z "$BENCH" ] || results=$results/$BENCH
document=$SRCDIR/docs/BENCHMARKS.md
programs=$(mktemp -d "${TMPDIR:-/tmp}/memattach-bench.XXXXXX") || exit 1
trap 'rm -rf "$programs"' EXIT
trap 'exit 1' HUP INT PIPE TERM

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

# measure SCRIPT [OPTIONS]
measure() {
	measure_script=$1
	shift
	# shellcheck disable=SC2086
	python3 "$bench/$measure_script" --programs "$programs" --results "$results" "$@" \
		$BENCH_OPTIONS || die "no figures"
}

# show SCRIPT: prints what was measured, and writes it into the document if it is all of it.
show() {
	if [ -z "$QUICK" ] && [ -w "$document" ]; then
		python3 "$bench/$1" "$results" --document "$document"
	else
		python3 "$bench/$1" "$results"
	fi
}

bench_() {
	build_overhead "$programs" || die "a program does not build"
	if [ -n "$QUICK" ]; then
		measure measure.py --repetitions 2 --scale 0.1
	else
		measure measure.py
	fi
	show tables.py
	[ -z "$QUICK" ] || return
	set -- "$programs/leak_mark"
	[ ! -w "$document" ] || set -- "$@" "$document"
	python3 "$bench/leaks.py" "$@"
}

bench_programs() {
	build_threaded "$programs" || die "a program does not build"
	if [ -n "$QUICK" ]; then
		measure programs.py --repetitions 1 --scale 0.05 --threads 1,2 --quick
	else
		measure programs.py
	fi
	show program_tables.py
}

# measure_servers OPTIONS: into one file, server by server.
measure_servers() {
	# shellcheck disable=SC2086
	sh "$bench/servers.sh" "$programs" "$results/$(date -u +%Y%m%dT%H%M%SZ).json" "$@" \
		$BENCH_OPTIONS || die "no figures"
}

bench_servers() {
	build_program "$programs" server_load || die "server_load does not build"
	if [ -n "$QUICK" ]; then
		measure_servers --pairs 3 --seconds 0.5
	else
		measure_servers
	fi
	show server_tables.py
}

bench_allocators() {
	build_program "$programs" shbench || die "shbench does not build"
	if [ -n "$QUICK" ]; then
		measure allocators.py --repetitions 1 --most 100000
	else
		measure allocators.py
	fi
	show allocator_tables.py
}

case $BENCH in
'' | allocators | programs | servers) ;;
*) die "no such benchmark: $BENCH" ;;
esac
command -v python3 >/dev/null 2>&1 || die "python3 is not installed"
[ -x "$MEMATTACH" ] || die "$MEMATTACH is not there; make it first"
for tool in heaptrack gdb valgrind; do
	command -v "$tool" >/dev/null 2>&1 || echo "bench: $tool is not installed, left out" >&2
done
{ build_common "$programs" && build_ringwatch "$programs"; } || die "no $CC?"
make_results
[ -n "$QUICK" ] || await_quiet
"bench_$BENCH"
