#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of leaks once more, with memattach as its unit runs it: another user than the target's,
# with few capabilities, who may send it no signal and write none of its files. AS_UNIT_TESTS names
# those that are run.
TEST_LIMIT=${TEST_LIMIT:-900}
. "$(dirname "$0")/lib.sh"
: "${AS_UNIT_TESTS:=$(cd "$E2E" && ls leaks-*.sh)}"
(AS_UNIT='' && as_unit) || exit $?

for test in $AS_UNIT_TESTS; do
	test=${test%.sh}
	[ "$test" != leaks-as-unit ] && dealt 12 || continue
	status=0
	AS_UNIT=1 KINDS="${KINDS-none threads}" PICTURES="${PICTURES-2}" \
		sh "$E2E/$test.sh" >"$WORK/$test" 2>&1 || status=$?
	case $status in
	0) note "$test: passed" ;;
	77) note "$test: $(tail -n 1 "$WORK/$test")" ;;
	*) fail "$test, as the unit's user: status $status: $(tail -n 30 "$WORK/$test")" ;;
	esac
done
