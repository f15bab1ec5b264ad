#!/bin/sh
# SPDX-License-Identifier: MIT
# make check, make check-quick: builds the programs of the tests, and goes through all folders of
# tests whatever fails in one of them, the cheap ones first; ends with one list of what failed and
# one line of totals. A program that can't be built, or a folder that fails outside of its tests, is
# a failure of its own.
#
#	check.sh all	everything; the packages of tests are installed meanwhile
#	check.sh quick	unit, lint, race, and end-to-end tests that need no more than the build does
#
# From a recipe of make: MAKE, SRCDIR and BUILDDIR are set.
set -u
: "${MAKE:=make}"
: "${SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
tier=${1:-all}
flags=${MAKEFLAGS:-}
case ${flags%% *} in
*[!a-zA-Z]*) ;;
*n*) exit 0 ;;	# make -n
esac
trouble=$BUILDDIR/tests/check-trouble.log	# what failed outside of the tests, a line each
installed=$BUILDDIR/tests/check-packages.log

# As many jobs as processors where nobody said how many.
case " ${MAKEFLAGS:-}" in
*" -j"* | *--jobserver*) jobs= ;;
*) jobs=-j$(nproc 2>/dev/null || echo 1) ;;
esac

# in_folder FOLDER [ARGUMENT...]: its tests, or its programs; its failures are counted at the end.
in_folder() {
	folder=$1
	shift
	[ "$folder" != tests/unit ] || grep -q '^UNIT = unit' "$BUILDDIR/tests/Makefile" ||
		{ echo "no cmocka: the unit tests are left out"; return 0; }
	echo "==== $folder"
	begun=$(count_failed)
	case $folder in	# automake's check runs none where one of its programs could not be built
	tests/race | tests/unit) goal="check-TESTS check_PROGRAMS=" ;;
	*) goal=check ;;
	esac
	# shellcheck disable=SC2086 # no word, or one
	if "$MAKE" $jobs -C "$BUILDDIR/$folder" -k $goal "$@"; then
		[ -n "$(find "$BUILDDIR/$folder" -name '*.trs' 2>&1)" ] ||
			echo "$folder: no test was run" >>"$trouble"
		return 0
	fi
	[ "$(count_failed)" -gt "$begun" ] ||
		echo "$folder: make failed outside of its tests" >>"$trouble"
}

# One that can't be built keeps none of the others' tests from running.
build_programs() {
	# shellcheck disable=SC2086 # no word, or one
	"$MAKE" $jobs -C "$BUILDDIR" -k check-programs ||
		echo "not all programs of the tests could be built" >>"$trouble"
}

count_failed() {
	find "$BUILDDIR/tests" -name '*.trs' \
		-exec grep -lE '^:test-result: (FAIL|XPASS|ERROR)' {} + | wc -l
}

# The packages come while programs are built and the races run, unless a password may be
# asked for.
packages_begin() {
	packages=
	if [ "$(id -u)" -ne 0 ]; then
		sh "$SRCDIR/packaging/deps/install-missing" test
		return
	fi
	sh "$SRCDIR/packaging/deps/install-missing" test >"$installed" 2>&1 </dev/null &
	packages=$!
}

packages_await() {
	[ -n "$packages" ] || return 0
	wait "$packages" || tail -n 3 "$installed"
	grep '^install-missing:' "$installed"
}

check_quick() {
	in_folder tests/lint
	in_folder tests/race
	in_folder tests/unit
	in_folder tests/e2e "TESTS=\$(e2e_quick_tests)"
}

check_all() {
	in_folder tests/race
	packages_await	# a program that is being installed is worse than none
	in_folder tests/lint
	in_folder tests/unit
	in_folder tests/e2e
}

find "$BUILDDIR/tests" \( -name '*.trs' -o -name '*test-suite.log' \) -exec rm -f {} +
rm -f "$trouble"
[ "$tier" != all ] || packages_begin
build_programs
"check_$tier"
exec /bin/sh "$SRCDIR/tests/summary.sh"
