#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernel refuses one system call of the keeper, whichever it is, once or from then on: the
# victim, which checks itself, is unharmed, and pristine without any help but where memattach says
# that it is not (exit status 5); after `cleanup` then.
# Some names; with FULL each, and PER_CALL calls of each name (1; make soak: 1000), dealt by SEED
# (7; make soak: any); of each one of the two forms, or FORMS: once, always, both; ONLY some names;
# WAYS chooses what is done.
: "${TEST_LIMIT:=400}"
. "$(dirname "$0")/lib.sh"

: "${KIND:=mix}" "${THREADS:=4}" "${PER_CALL:=1}" "${SEED:=7}" "${FORMS:=one}"
# What can't fail, or by whose result nothing is decided. brk() does not say that it failed by an
# error; libc ends a program in which a futex can't be woken.
never=' brk clock_nanosleep exit_group futex getpid getppid gettid rt_sigaction '
never="$never rt_sigprocmask setpgid sysinfo "

# What a signal may interrupt, but not for ever.
interrupted=' close rt_sigtimedwait wait4 '

# arguments_of WAY: sets WAY_ARGUMENTS
arguments_of() {
	case $1 in
	sampled) WAY_ARGUMENTS="-p $VICTIM -d 0.1 --sample=4096 --loader=$LOADER" ;;
	exact)	WAY_ARGUMENTS="-p $VICTIM -d 0.1 --exact --loader=$LOADER" ;;
	mapped)	WAY_ARGUMENTS="-p $VICTIM -d 0.1 --sample=4096 --loader=map" ;;
	leaks)	WAY_ARGUMENTS="leaks -p $VICTIM" ;;
	*)	fail "no such way: $1" ;;
	esac
}

# run_failing [FAIL [AFTER]]: sets STATUS; COUNTS has what was called.
COUNTS=$WORK/counts
run_failing() {
	# shellcheck disable=SC2086 # words
	timeout -k 5 $((60 * PATIENCE)) "$TOOLS/failing" --counts="$COUNTS" ${1:+"--fail=$1"} \
		${2:+"--after=$2"} -- \
		"$MEMATTACH" $WAY_ARGUMENTS >"$WORK/out" 2>"$ERRORS" </dev/null
	STATUS=$?
}

# How it ended, for people who look at the log.
told() {
	echo "$way $1: status $STATUS: $(tail -n 1 "$ERRORS" | cut -c 1-160)"
}

clean_up() {
	timeout -k 5 60 "$MEMATTACH" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>&1 ||
		fail "$1: cleanup ended with status $?: $(cat "$WORK/cleanup")"
	cleanups=$((cleanups + 1))
}

one() {
	run_failing "$1"
	! grep -q '^failed ' "$COUNTS" || looked_at "$1"	# else it made fewer this time
}

# looked_at WHAT: how it ended, and how the victim is.
looked_at() {
	failed=$((failed + 1))
	told "$1"
	case $STATUS in
	0 | 1 | 3 | 6) ;;
	5)	case $1 in	# for good; a dlclose() that did nothing is not made again
		*+ | "step: function "*) ;;
		*)	fail "$1: dormant after what failed once" ;;
		esac
		"$TOOLS/ringwatch" "$VICTIM" inert 1000 >"$WORK/ringwatch" ||
			fail "$1: hooks still record a second later"
		clean_up "$1" ;;
	*)	fail "$1: exit status $STATUS" ;;
	esac
	! grep -q 'its code changed' "$ERRORS" ||
		fail "$1: a call that failed was taken for a change of the program"
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" ||
		fail "$1: something of ours is still mapped"
	pristine_check "$VICTIM"
	checked check
}

# The numbers of the calls to refuse, MOST of COUNT: at even distances, dealt by the seed.
numbers() {
	awk -v count="$1" -v most="$2" -v seed="$SEED" 'BEGIN {
		n = count < most ? count : most
		for (i = 0; i < n; i++)
			print 1 + int((seed + i * count / n) % count)
	}'
}

# Once, or from then on: one of them, at even odds, or as FORMS says.
forms_of() {
	turn=$((turn + 1))
	case $FORMS in
	one)	[ $(((SEED + turn) % 2)) -eq 1 ] && form=always || form=once ;;
	*)	form=$FORMS ;;
	esac
	case $interrupted in *" $1 "*) form=once ;; esac
	[ "$form" = always ] || one "$1:$2"
	[ "$form" = once ] || one "$1:$2+"
}

# The calls that a borrowed thread makes for us in the target, with either loader.
refuse_in_target() {
	number=1
	while :; do
		dealt 6 || { number=$((number + 1)); continue; }
		# shellcheck disable=SC2086 # words
		MEMATTACH_REFUSE_CALL=$number timeout -k 5 $((60 * PATIENCE)) "$MEMATTACH_STEPS" \
			$WAY_ARGUMENTS >"$WORK/out" 2>"$ERRORS" </dev/null
		STATUS=$?
		grep -q '^step: .* is refused$' "$ERRORS" || break
		looked_at "$(grep -m 1 '^step:' "$ERRORS"), $number, $LOADER"
		number=$((number + 1))
	done
	[ "$number" -gt 5 ] || fail "only $number calls in the target"
}

# Who was forked meanwhile is looked for last, through /proc: where that can't be done it is said.
# Others look through /proc before, once more where they try again: then the call that was counted
# is one of theirs, and the attach fails (3, 6), or there is none. Nothing is shown by that.
not_looked_for() {
	for _ in 1 2 3 4 5; do
		run_failing '' /proc:0
		last=$(awk '$1 == "/proc" { print $2 }' "$COUNTS")
		[ "${last:-0}" -gt 0 ] || fail "nobody has looked through /proc"
		run_failing openat:1+ "/proc:$last"
		grep -q '^failed ' "$COUNTS" || continue
		case $STATUS in 3 | 6) looked_at "opening after /proc, $last+" ;; *) break ;; esac
	done
	[ "$STATUS" -eq 5 ] && grep -q 'not every process could be looked at' "$ERRORS" ||
		fail "opening after /proc, $last+: status $STATUS, and that was not said"
	looked_at "opening after /proc, $last+"
}

victim check selfcheck --kind="$KIND" --threads="$THREADS"
pristine_take "$VICTIM"
failed=0 cleanups=0 turn=0 way=sampled
if [ -x "$MEMATTACH_STEPS" ] && [ -z "${ONLY:-}" ]; then
	for LOADER in map dlopen; do
		arguments_of sampled
		refuse_in_target
	done
	note "$failed calls in the target refused, cleanup needed after $cleanups"
fi
LOADER=auto
for way in ${WAYS:-sampled}; do
	arguments_of "$way"
	run_failing
	[ "$STATUS" -le 1 ] || fail "status $STATUS with nothing refused"
	grep -v '^failed' "$COUNTS" >"$WORK/called"
	while read -r name count; do
		dealt 6 || [ "$name" = pread64 ] || [ "$name" = readlink ] || continue
		case $never in *" $name "*) continue ;; esac
		case " ${ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
		for number in $(numbers "$count" "$PER_CALL"); do
			forms_of "$name" "$number"
		done
		# By this call each part of the shim is looked at as dlopen maps it.
		[ "$FORMS $name" != "one readlink" ] || [ "$PER_CALL" -gt 1 ] ||
			for number in $(numbers "$count" 16); do
				one "$name:$number"
			done
		# By this one text, maps and pages are all read, each for another reason.
		[ "$FORMS $name" = "one pread64" ] || continue
		for number in $(numbers "$count" 8); do
			one "$name:$number"
		done
	done <"$WORK/called"
done
if [ -z "${ONLY:-}" ]; then
	way=sampled
	arguments_of sampled
	not_looked_for
fi
[ "$failed" -ge "$(in_full 60 14)" ] || [ "${ONLY:-}" ] || fail "only $failed calls were refused"
note "$failed calls refused, cleanup needed after $cleanups"
finished check
