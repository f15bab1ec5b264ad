#!/bin/sh
# SPDX-License-Identifier: MIT
# The books that memattach is measured by agree with valgrind's memcheck and with LeakSanitizer,
# site by site and kind by kind, but where a difference is known (docs/LEAKS.md).
# Both look at the victims in the same state as memattach does.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs python3

wrong=0
compare() {
	if python3 "$E2E/check_leaks_oracle.py" "$@" >"$WORK/compared" 2>&1; then
		note "$what: $(tail -n 1 "$WORK/compared")"
	else
		note "WRONG: $what: $(cat "$WORK/compared")"
		wrong=$((wrong + 1))
	fi
}

# searched NAME PROGRAM...: built, searched by the checker that it runs under, and ended.
# shellcheck disable=SC2034	# VICTIM_SELF is for ended
searched() {
	background "$@"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/$1.out" || fail "$what: $(cat "$WORK/$1.err")"
	tell "$1" b
	answer "$1" built
	tell "$1" v
	answer "$1" searched
	ended "$1"
}

# By itself valgrind places memory at 0x4000000, where times and numbers of files are pointers into
# a large block by chance.
memcheck() {
	what="$1 $2 under memcheck"
	searched memcheck valgrind --leak-check=no --aspace-minaddr=0x200000000 \
		--show-leak-kinds=all --leak-resolution=high --num-callers=40 \
		--soname-synonyms=somalloc=nouserintercepts --xml=yes \
		--xml-file="$WORK/memcheck.xml" "$WORK/asking/$1" "$2"
	grep -q '</valgrindoutput>' "$WORK/memcheck.xml" || fail "$what: no report"
	compare memcheck "$WORK/memcheck.out" "$WORK/memcheck.xml"
}

lsan() {
	what="$1 $2 with LeakSanitizer"
	LSAN_OPTIONS=malloc_context_size=40:fast_unwind_on_malloc=0 \
		searched lsan "$WORK/sanitized/$1" "$2"
	compare lsan "$WORK/lsan.out" "$WORK/lsan.err"
}

# built NAME [FLAG]: both victims, in a folder of that name. For memcheck, too: those of the other
# tests may have been built before there was a header to ask valgrind by.
built() {
	flags="-I$SRCDIR -D_GNU_SOURCE -g -O2 -fno-omit-frame-pointer ${2:-}"
	v=$SRCDIR/tests/victims
	o=$WORK/$1
	mkdir "$o"
	for source in leaky_book victim leaky leaky_heaps leaky_threads; do
		# shellcheck disable=SC2086
		$CC -std=gnu11 $flags -c -o "$o/$source.o" "$v/$source.c" || return
	done
	# shellcheck disable=SC2086
	$CC -std=gnu11 $flags -fPIC -shared -o "$o/leaky_plug.so" "$v/leaky_plug.c" &&
	(cd "$o" && $CC $flags -o leaky leaky.o leaky_heaps.o leaky_threads.o leaky_book.o \
		victim.o -pthread -ldl &&
	 $CXX $flags -o leaky_cxx "$v/leaky_cxx.cc" leaky_book.o victim.o -pthread -ldl)
}

# What can't be searched together is built alone, but for what no checker can take (sparse).
each() {
	for program in leaky leaky_cxx; do
		victim leaky $program
		tell leaky l
		answer leaky listed
		sed -n 's/^alone //p' "$WORK/leaky.out" |
			grep -v -e busy -e none -e pvalloc -e sparse >"$WORK/kinds"
		ended leaky
		"$1" $program "--kind="
		while read -r kind; do
			dealt 3 || continue
			"$1" $program "--kind=$kind"
		done <"$WORK/kinds"
	done
}

if command -v valgrind >/dev/null && [ -e /usr/include/valgrind/memcheck.h ]; then
	built asking 2>"$WORK/build" || fail "the victims can't be built: $(cat "$WORK/build")"
	each memcheck
	done_any=1
fi
if built sanitized -fsanitize=leak 2>"$WORK/build"; then
	each lsan
	done_any=1
else
	note "no LeakSanitizer: $(head -n 3 "$WORK/build")"
fi
[ "${done_any:-0}" = 1 ] || skip "neither valgrind nor LeakSanitizer"
expect "$wrong" 0 "comparisons that failed"
