#!/bin/sh
# SPDX-License-Identifier: MIT
# `make fuzz`: every fuzzer under AddressSanitizer and UBSan, for FUZZ_SECONDS each (60). What
# they learn (corpora), what they find and how many runs they have made stay in the build folder,
# so that all of it adds up over runs; delete fuzz-corpus there to begin anew. They begin with the
# inputs that keep.sh has put into the sources.
#
# FUZZ_LANES (1) are run at a time. NAME.dict is a fuzzer's dictionary.
#
#	fuzz/run.sh [NAME...]	only those: procmaps, heap_glibc, ...
# Exit status 0 nothing was found; 1 something was; 77 there is no libFuzzer (clang's); 99.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${FUZZ_SECONDS:=60}"
: "${FUZZ_LANES:=1}"
LC_ALL=C
export LC_ALL
build=$BUILDDIR/fuzz-build
corpora=$BUILDDIR/fuzz-corpus
results=$BUILDDIR/fuzz-results.tsv
failed=0
. "$SRCDIR/tests/fuzz/corpus.sh"

die() {
	echo "fuzz: $*" >&2
	exit 99
}

mkdir -p "$build" "$corpora" || die "can't write to $BUILDDIR"
echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
	clang -x c -fsanitize=address,fuzzer -o "$build/probe" - 2>/dev/null ||
	{ echo "fuzz: no clang with libFuzzer"; exit 77; }
source=$SRCDIR
if [ -f "$SRCDIR/config.status" ]; then	# configure refuses to build from such a tree
	source=$BUILDDIR/fuzz-source
	make -s -C "$BUILDDIR" distdir distdir=fuzz-source >"$build/make.log" 2>&1 ||
		die "no copy of the sources, see $build/make.log"
fi
cd "$build" || die "no $build"
[ -f config.status ] || "$source/configure" --quiet CC=clang CFLAGS='-O1 -g' \
	--enable-sanitizers || die "configure failed"
make -s -j2 >make.log 2>&1 && make -s -j2 -C tests/fuzz fuzzers >>make.log 2>&1 ||
	die "the build failed, see $build/make.log"
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(cd tests/fuzz && find . -name 'fuzz_*' -type f -perm -u+x |
	sed 's|^\./fuzz_||' | sort)
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=512
# Half of the time would go into remembering who allocated and freed.
ASAN_OPTIONS=$ASAN_OPTIONS:malloc_context_size=8:quarantine_size_mb=16
UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS

for name; do
	[ -x "tests/fuzz/fuzz_$name" ] || die "no fuzzer $name"
	mkdir -p "$corpora/$name"
	corpus_unpack "$name" "$build/seeds" || die "no inputs of $name"
done
printf '%s\n' "$@" | SRCDIR=$source BUILDDIR=$BUILDDIR FUZZ_SECONDS=$FUZZ_SECONDS \
	xargs -n 1 -P "$FUZZ_LANES" sh "$source/tests/fuzz/one.sh" || failed=1
echo "all runs so far:"
awk -F '\t' '{ runs[$2] += $3; seconds[$2] += $4; found[$2] += $5 == "found" }
	END { for (n in runs) printf "%-20s %12d runs %8d s, %d with a finding\n", n, runs[n],
		seconds[n], found[n] }' "$results" | sort
exit $failed
