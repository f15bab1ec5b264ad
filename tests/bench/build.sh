# SPDX-License-Identifier: MIT
# How the benchmark's programs are built. Sourced, with SRCDIR, BUILDDIR, CC and CXX.
# shellcheck shell=sh disable=SC2086,SC2154
bench=$SRCDIR/tests/bench
bench_flags="-D_GNU_SOURCE -g -O2 -pthread -I$SRCDIR"

# Those with a number of threads, whose counts are compared with what tools saw. That which
# is not there is left out.
bench_threaded='threadtest linux_scalability shbench binary_trees hash_table parse_json queue
	deep_slots'

# build_common FOLDER: what all of them are linked with.
build_common() {
	$CC -std=gnu11 $bench_flags -c -o "$1/bench.o" "$bench/bench.c"
}

# build_program FOLDER NAME [LIBRARY...]
build_program() {
	build_folder=$1 build_name=$2
	shift 2
	$CC -std=gnu11 $bench_flags -o "$build_folder/$build_name" "$bench/$build_name.c" \
		"$build_folder/bench.o" "$@"
}

# build_threaded FOLDER: all of bench_threaded.
build_threaded() {
	for name in $bench_threaded; do
		[ -f "$bench/$name.c" ] || continue
		case $name in
		parse_json) set -- "$1" -ljansson ;;
		*) set -- "$1" ;;
		esac
		build_program "$1" "$name" ${2:+"$2"} || return 1
	done
}

# build_overhead FOLDER: the programs of overhead.py, attach.py and leaks.py.
build_overhead() {
	for name in slots threads heartbeat; do
		build_program "$1" "$name" || return 1
	done
	$CXX $bench_flags -o "$1/containers" "$bench/containers.cc" "$1/bench.o" &&
		$CC -std=gnu11 $bench_flags -o "$1/leak_mark" "$bench/leak_mark.c" \
			"$BUILDDIR/src/libmemattach.a" "$BUILDDIR/inject/libinject.a" \
			"$BUILDDIR/src/base/libbase.a"
}

# build_ringwatch FOLDER: waits for memattach's hooks.
build_ringwatch() {
	$CC -std=gnu11 $bench_flags -o "$1/ringwatch" "$SRCDIR/tests/tools/ringwatch.c"
}
