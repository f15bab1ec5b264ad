#!/bin/sh
# SPDX-License-Identifier: MIT
# `make fuzz-keep`: what `make fuzz` has learned and done in this build folder goes to the sources,
# so that it adds up over machines: the smallest set of inputs that reaches what all of them reach
# (corpus/NAME.tar.xz), and the time and runs of each fuzzer (totals.tsv). fuzz-results.tsv begins
# anew then.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
LC_ALL=C
export LC_ALL
. "$SRCDIR/tests/fuzz/corpus.sh"
programs=$BUILDDIR/fuzz-build/tests/fuzz
results=$BUILDDIR/fuzz-results.tsv
totals=$SRCDIR/tests/fuzz/totals.tsv
work=$(mktemp -d "${TMPDIR:-/tmp}/memattach-fuzz.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

die() {
	echo "fuzz-keep: $*" >&2
	exit 99
}

# keep NAME: its smallest corpus.
keep() {
	mkdir -p "$work/new/$1" "$BUILDDIR/fuzz-corpus/$1"
	corpus_unpack "$1" "$work/seeds" || die "no inputs of $1 in the sources: damaged"
	"$programs/fuzz_$1" -merge=1 "$work/new/$1" "$work/seeds/$1" \
		"$BUILDDIR/fuzz-corpus/$1" >"$work/log" 2>&1 </dev/null ||
		die "$1: $(tail -n 3 "$work/log")"
	mkdir -p "$SRCDIR/tests/fuzz/corpus"
	tar -C "$work/new" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
		-cJf "$SRCDIR/tests/fuzz/corpus/$1.new" "$1" &&
		mv "$SRCDIR/tests/fuzz/corpus/$1.new" "$SRCDIR/tests/fuzz/corpus/$1.tar.xz" ||
		die "can't write the inputs of $1"
	echo "$1: $(find "$work/new/$1" -type f | wc -l) inputs"
}

[ -s "$results" ] || die "there is no $results: run make fuzz first"
[ -f "$totals" ] || : >"$totals"
for name in $(cut -f 2 "$results" | sort -u); do
	keep "$name"
done
# NAME SECONDS RUNS FINDINGS
awk -F '\t' -v OFS='\t' '
	FILENAME == ARGV[1] { seconds[$1] += $2; runs[$1] += $3; found[$1] += $4; next }
	{ seconds[$2] += $4; runs[$2] += $3; found[$2] += $5 == "found" }
	END { for (n in runs) printf "%s\t%d\t%.0f\t%d\n", n, seconds[n], runs[n], found[n] }
' "$totals" "$results" | sort >"$work/totals" && cp "$work/totals" "$totals" ||
	die "can't write $totals"
: >"$results"
cat "$totals"
