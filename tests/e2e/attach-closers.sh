#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread that closes descriptors which it did not open closes ours, too, and others open files
# under their numbers: those must not become our ring or code, nor stay mapped. It is entered, or
# refused with the cause; in each case nothing is left, and the program's file is what it was.
. "$(dirname "$0")/lib.sh"
needs jq

# session OPTIONS: one attach to a program that goes on closing. STATUS
session() {
	tell closers g
	attach -p "$VICTIM" -d 0.2 --json "$@"
	tell closers p
	answer closers paused
	pristine_check "$VICTIM"
	checked_file
	case $STATUS in
	0) entered=$((entered + 1)) ;;
	3) said_one_line 'closes descriptors that it did not open' ;;
	*) fail "exit status $STATUS: $(cat "$ERRORS")" ;;
	esac
}

checked_file() {
	tell closers c
	answer closers checked
}

# sessions OPTIONS-OF-VICTIM: each loader, some times each.
sessions() {
	# shellcheck disable=SC2086
	victim closers closers "--file=$WORK/closers.file" $1
	pristine_take "$VICTIM"
	for loader in auto map dlopen; do
		dealt 2 || continue
		entered=0 tried=0
		while [ "$tried" -lt "$(in_full 20 2)" ]; do
			tried=$((tried + 1))
			session --loader=$loader
		done
		note "$1 --loader=$loader: $entered of $tried"
		case $1-$loader in
		*pause-us=20000*-auto | *pause-us=20000*-map | *aims*-auto | *aims*-map)
			expect "$entered" "$tried" "entered with time in between" ;;
		*aims*-dlopen)
			hits=${ANSWER##* }
			[ "$hits" -gt 0 ] || fail "no file was put in the place of the shim's" ;;
		esac
	done
	ended closers
}

sessions "--pause-us=20000"
sessions "--pause-us=20000 --openers=1"
sessions "--pause-us=300 --openers=1"
sessions "--pause-us=0 --openers=1"
# Another file is under the number by which dlopen maps, once it has read the shim's header.
sessions "--aims=1"
