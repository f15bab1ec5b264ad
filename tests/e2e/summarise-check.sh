#!/bin/sh
# SPDX-License-Identifier: MIT
# make check goes through all folders whatever fails in one of them, counts what fails outside of
# the tests, too, and ends with one list and one line of totals; what ran before is not counted. A
# make of ours stands in for the real one: it writes what automake's harness would.
. "$(dirname "$0")/lib.sh"

tree=$WORK/tree
mkdir -p "$tree/packaging/deps" "$tree/tests/lint" "$tree/tests/race" "$tree/tests/unit" \
	"$tree/tests/e2e" || exit 99
cp "$SRCDIR/tests/check.sh" "$SRCDIR/tests/summary.sh" "$tree/tests/" || exit 99
echo 'UNIT = unit' >"$tree/tests/Makefile"
cat >"$tree/packaging/deps/install-missing" <<END
echo "install \$*" >>"$WORK/asked"
END
cat >"$WORK/make" <<END
#!/bin/sh
# result FOLDER/TEST RESULT LOG: as automake's harness leaves it
result() { echo ":test-result: \$2" >"$tree/tests/\$1.trs"; echo "\$3" >"$tree/tests/\$1.log"; }
while [ \$# -gt 0 ]; do
	case \$1 in
	-C) folder=\${2#$tree/}; shift ;;
	-j*) jobs=\$1 ;;
	TESTS*) tests=\$1 ;;
	esac
	shift
done
echo "\$folder \${jobs:-} \${tests:-}" >>"$WORK/asked"
. "$WORK/results"
END
chmod 755 "$WORK/make"

# check TIER: sets STATUS; what it says is in $REPORT, what it asked make for in $WORK/asked.
check() {
	: >"$WORK/asked"
	MAKEFLAGS=${FLAGS:-} MAKE=$WORK/make SRCDIR=$tree BUILDDIR=$tree \
		sh "$tree/tests/check.sh" "$1" >"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
}

# The first folder fails, another fails outside of its tests, the last is reached all the same.
cat >"$WORK/results" <<'END'
case $folder in
tests/lint)
	result lint/bad FAIL 'FAIL: a bad style'
	result lint/good PASS fine
	exit 2 ;;
tests/race) exit 2 ;;
tests/unit)
	result unit/test_one PASS fine
	exit 0 ;;
tests/e2e)
	result e2e/absent SKIP 'SKIP: jq is not installed'
	result e2e/odd ERROR broken
	exit 2 ;;
esac
END
echo ':test-result: FAIL' >"$tree/tests/e2e/of_before.trs"
check all
expect "$STATUS" 1 "exit status"
expect "$(tail -n 1 "$REPORT")" "2 passed, 3 failed, 1 skipped" "the last line"
expect "$(grep -c '^FAIL: ' "$REPORT")" 3 "what failed"
for line in 'FAIL: tests/lint/bad: a bad style' 'FAIL: tests/e2e/odd' \
	'FAIL: tests/race: make failed' 'SKIP: tests/e2e/absent: jq is not installed'; do
	grep -q "^$line" "$REPORT" || fail "not said: $line; $(cat "$REPORT")"
done
grep -q '^install test$' "$WORK/asked" || fail "packages: $(cat "$WORK/asked")"
sed -n 's/^\(tests[^ ]*\) .*/\1/p' "$WORK/asked" >"$WORK/folders"
expect "$(tail -n 2 "$WORK/folders" | paste -sd ' ')" "tests/unit tests/e2e" "the last folders"
grep -q "^tests/e2e -j$(nproc)" "$WORK/asked" || fail "jobs: $(cat "$WORK/asked")"

# All is well: status 0, and as many jobs as make has been told.
cat >"$WORK/results" <<'END'
case $folder in tests/*) result "${folder#tests/}/good" PASS fine ;; esac
END
FLAGS='k -j3 --jobserver-auth=3,4'
check all
expect "$STATUS $(tail -n 1 "$REPORT")" "0 4 passed, 0 failed, 0 skipped" "where nothing fails"
! grep -q -- ' -j' "$WORK/asked" || fail "jobs in spite of make's: $(cat "$WORK/asked")"
check quick
expect "$STATUS" 0 "exit status of the quick tests"
# shellcheck disable=SC2016 # make's
grep -q '^tests/e2e .*TESTS=$(e2e_quick_tests)' "$WORK/asked" || fail "$(cat "$WORK/asked")"
! grep -q '^install' "$WORK/asked" || fail "packages are installed for the quick tests"

# A folder in which no test is run is no folder in which all is well.
cat >"$WORK/results" <<'END'
case $folder in tests/race) ;; tests/*) result "${folder#tests/}/good" PASS fine ;; esac
END
check all
expect "$STATUS $(tail -n 1 "$REPORT")" "1 3 passed, 1 failed, 0 skipped" "a folder without tests"
grep -q '^FAIL: tests/race: no test was run' "$REPORT" || fail "not said: $(cat "$REPORT")"

# make -n makes nothing.
FLAGS='kn -j3'
check all
expect "$STATUS$(cat "$WORK/asked")" 0 "make -n"
