#!/bin/sh
# SPDX-License-Identifier: MIT
# What the tests of all folders came to: what was skipped and why, what failed, and as the last line
# `N passed, N failed, N skipped`. Status 0 if nothing failed.
#
#	summary.sh [--logs]	--logs: of each test that failed the ends of its log, too
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
cd "$BUILDDIR" || exit 99
trouble=tests/check-trouble.log

# tests_that RESULT...: the tests that ended so, as paths without the extension.
tests_that() {
	results=$(echo "$*" | tr ' ' '|')
	find tests -name '*.trs' -exec grep -lE "^:test-result: ($results)" {} + |
		sed 's/\.trs$//' | sort
}

count() { tests_that "$@" | grep -c .; }

# why TEST WORD: the first line of its log that says so, without the word.
why() {
	grep -m 1 -a "^$2:" "$1.log" 2>/dev/null | cut -c 1-300 | sed "s/^$2: *//"
}

# A log's first 80 lines and its last 60: what failed, and what was said of it.
ends_of() {
	head -n 80 "$1"
	tail -n +81 "$1" | tail -n 60
}

failed=$(count FAIL XPASS ERROR)
skipped=$(count SKIP)
if [ "${1:-}" = --logs ]; then
	for test in $(tests_that FAIL XPASS ERROR); do
		echo "==== $test"
		ends_of "$test.log"
	done
fi
[ "$skipped" -eq 0 ] || for test in $(tests_that SKIP); do
	echo "SKIP: $test: $(why "$test" SKIP)"
done
for test in $(tests_that FAIL XPASS ERROR); do
	echo "FAIL: $test: $(why "$test" FAIL) (see $test.log)"
done
if [ -s "$trouble" ]; then
	sed 's/^/FAIL: /' "$trouble"
	failed=$((failed + $(grep -c . "$trouble")))
fi
echo "$(count PASS XFAIL) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
