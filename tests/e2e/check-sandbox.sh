#!/bin/sh
# SPDX-License-Identifier: MIT
# The process that parses what the target could have made up holds no privilege. Somebody who takes
# it over, or a child of it, opens no file and no socket, traces nobody and starts nothing; the
# session goes on, and leaves the target as it was.
. "$(dirname "$0")/lib.sh"

held() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"; }

# unprivileged PID
unprivileged() {
	for set in CapEff CapPrm CapInh CapAmb; do
		expect "$(held $set "$1")" 0000000000000000 "$set of $1"
	done
	expect "$(held NoNewPrivs "$1")" 1 "NoNewPrivs of $1"
}

victim check selfcheck --kind=malloc-loop --threads=2
attach_begin -p "$VICTIM" --sample=4096
attach_await "$VICTIM"
analyst=$(attach_analysts)
expect "$(echo "$analyst" | wc -w)" 1 "analysts"
unprivileged "$analyst"
openers=0
for pid in $(attach_processes); do
	case "$(held Name "$pid") $(held Seccomp "$pid")" in "memattach-files 2")
		unprivileged "$pid"
		# its socket, and what everybody has
		expect "$(find "/proc/$pid/fd" -type l | wc -l)" 4 "descriptors of who opens files"
		openers=$((openers + 1)) ;;
	esac
done
expect "$openers" 1 "processes that open files for the analyst"
expect "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$VICTIM/status")" 0 "tracer while watching"
attach_end INT
expect "$STATUS" 0 "exit status"
finished check

# taken_over ARGUMENTS: by tests/tools/intruder.c, when it has begun to watch.
taken_over() {
	note "taken over: $*"
	victim check selfcheck --kind=malloc-loop --threads=2
	pristine_take "$VICTIM"
	echo secret >"$WORK/there"
	BREAK_OUT_FILE=$WORK/there MEMATTACH=$TOOLS/memattach_intruder
	export BREAK_OUT_FILE
	attach -p "$VICTIM" -d 1 --json "$@"
	for who in "the analyst" "a child of the analyst"; do
		said=$(grep "^$who tried" "$ERRORS") || fail "$who did not try"
		case $said in *" 0 were not refused") ;; *)
			fail "$said: $(grep '^NOT REFUSED' "$ERRORS")" ;;
		esac
	done
	[ "$(grep -c '^refused' "$ERRORS")" -ge 160 ] || fail "too little was tried"
	expect "$(cat "$WORK/there")" secret "a file"
	expect "$(ls "$WORK/there"*)" "$WORK/there" "files beside it"
	report_good
	# who opened it for the analyst goes on doing so: it has names, with libc's symbols or not
	json '.sites[].frames[].function' | grep -q '^thread_main$' || fail "no names any more"
	pristine_check "$VICTIM"
	finished check
}

taken_over --sample=4096
taken_over --sample=4096 -o "$WORK/recording"
"$MEMATTACH" report "$WORK/recording" >"$WORK/text" 2>&1 || fail "no report: $(cat "$WORK/text")"
grep -q thread_main "$WORK/text" || fail "a recording without names"
taken_over $EXACT --leaks
