# SPDX-License-Identifier: MIT
# What the end-to-end tests share: victims with readiness and commands, waiting
# for conditions (never for time), pristine checks, and an end that leaves nothing behind.
# shellcheck shell=sh disable=SC2034,SC2119,SC2120
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${MEMATTACH:=$BUILDDIR/cli/memattach}"
: "${MEMATTACH_STEPS:=$BUILDDIR/cli/memattach-steps}"
: "${VICTIMS:=$BUILDDIR/tests/victims}"
: "${TOOLS:=$BUILDDIR/tests/tools}"
: "${CC:=cc}"
: "${CXX:=c++}"
: "${TEST_LIMIT:=300}"
# What never comes is waited for so many times longer than it takes on a usual machine: there are
# virtual machines on which a page fault takes 11 us, and all of this four times as long.
: "${PATIENCE:=4}"
# Long tests repeat themselves for each of many cases. `make check` takes some of them, dealt by
# DEAL (any number: many runs together take all), `FULL=1 make check` and `make soak` take each.
: "${FULL:=}" "${DEAL:=$$}"
DEALT=$DEAL
# Before a program that works without a rest: it takes what the tests beside it leave of a machine.
LOW="nice -n 10"
LC_ALL=C
PYTHONDONTWRITEBYTECODE=1
umask 022
unset LD_PRELOAD DEBUGINFOD_URLS GLIBC_TUNABLES MALLOC_ARENA_MAX MALLOC_ARENA_TEST MALLOC_CHECK_ \
	MALLOC_PERTURB_ MALLOC_TOP_PAD_ MALLOC_TRIM_THRESHOLD_ MALLOC_MMAP_THRESHOLD_
export PYTHONDONTWRITEBYTECODE LC_ALL MEMATTACH MEMATTACH_STEPS VICTIMS TOOLS SRCDIR BUILDDIR CC CXX

# A test that hangs is ended by name of its own process, and its trap tidies up.
if [ -z "${TEST_GUARD:-}" ]; then
	TEST_GUARD=1
	export TEST_GUARD
	exec timeout --foreground -k 15 $((TEST_LIMIT * PATIENCE)) /bin/sh "$0" "$@"
fi

# The system's own interpreter is ten times as fast as a wrapper that looks for one (pyenv's).
[ "$(command -v python3)" = /usr/bin/python3 ] || [ ! -x /usr/bin/python3 ] ||
	PATH=/usr/bin:/bin:$PATH

E2E=$SRCDIR/tests/e2e
WORK=$(mktemp -d "${TMPDIR:-/tmp}/memattach-e2e.XXXXXX") || exit 99
chmod 755 "$WORK"
# Some systems execute nothing from there.
echo '#!/bin/sh' >"$WORK/runs"
if ! { chmod +x "$WORK/runs" && "$WORK/runs"; } 2>/dev/null; then
	rm -rf "$WORK"
	WORK=$(mktemp -d "$BUILDDIR/tests/memattach-e2e.XXXXXX") || exit 99
	chmod 755 "$WORK"
fi
rm -f "$WORK/runs"
STARTED=""	# processes to end, newest first: PID@BEGUN each
STATUS=0	# of the last memattach
REPORT=$WORK/report.json
ERRORS=$WORK/errors

# begun PID: sets BEGUN to when it began, in the kernel's ticks; empty: there is no such process.
# The number of a process that is gone is another's soon: a run of the tests wraps around.
begun() {
	BEGUN=
	[ -e "/proc/$1/stat" ] || return 0
	{ BEGUN=$(sed -n '$s/.*) //p' "/proc/$1/stat" | cut -d ' ' -f 20); } 2>/dev/null
}

# own PID...: this test is to end them.
own() {
	for own_pid in "$@"; do
		begun "$own_pid"
		STARTED="$STARTED $own_pid@$BEGUN"
	done
}

# is_own PID@BEGUN: it is that process still.
is_own() {
	begun "${1%@*}"
	[ -n "$BEGUN" ] && [ "$BEGUN" = "${1#*@}" ]
}

# Ends exactly the processes that this test started, parents first: one that looks after its
# children (nginx) would start others in their place.
tidy_up() {
	for process in $STARTED; do
		! is_own "$process" || kill -KILL "${process%@*}" 2>/dev/null
	done
	for process in $STARTED; do
		wait "${process%@*}" 2>/dev/null
	done
	rm -rf "$WORK"
}
trap tidy_up EXIT
trap 'exit 1' HUP INT PIPE TERM

note() { echo "$*"; }

# dealt N: whether this case is among the one in N that are taken.
dealt() {
	DEALT=$((DEALT + 1))
	[ -n "$FULL" ] || [ $((DEALT % $1)) -eq 0 ]
}

# One of the two loaders.
dealt_loader() { if dealt 2; then echo map; else echo dlopen; fi; }

# in_full ALL SOME: how often something is done.
in_full() { [ -n "$FULL" ] && echo "$1" || echo "$2"; }

# The first threads of a process: what each does, who traces it, which signals wait, its time.
portrait() {
	for portrait_task in "/proc/$1/task"/*; do
		[ -e "$portrait_task" ] || continue
		sed -nE 's/^(Name|State|TracerPid|SigPnd|ShdPnd|SigBlk):.(.*)/\1 \2/p' \
			"$portrait_task/status"
		echo "in $(cat "$portrait_task/wchan"), call $(cat "$portrait_task/syscall")"
		echo "ticks $(sed 's/.*) //' "$portrait_task/stat" | cut -d ' ' -f 12,13)"
	done 2>/dev/null | head -n 72 | paste -sd ',' | sed 's/,Name/\nName/g'
}

fail() {
	echo "FAIL: $*"
	[ "$DEALT" = "$DEAL" ] || echo "--- again with the same cases: DEAL=$DEAL"
	[ ! -s "$ERRORS" ] || { echo "--- memattach said:"; tail -n ${ERROR_LINES:-20} "$ERRORS"; }
	gone=
	for process in $STARTED; do
		pid=${process%@*}
		if ! is_own "$process" || is_gone "$pid"; then
			gone="$gone $pid"
			continue
		fi
		echo "--- $pid"
		portrait "$pid"
	done
	echo "--- gone:$gone"
	exit 1
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# needs PROGRAM...: skips the test where one is not installed.
needs() {
	for program in "$@"; do
		command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
	done
}

is_root() { [ "$(id -u)" -eq 0 ]; }
own_status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
# has_capability NUMBER: as /proc shows ours, perhaps in a user namespace.
has_capability() { [ $((0x$(own_status CapEff) >> $1 & 1)) -eq 1 ]; }
may_trace_others() { has_capability 19; }
may_mount() { unshare -m mount -t tmpfs none "$WORK" 2>/dev/null; }
# The kernel shows a target's filters of system calls to CAP_SYS_ADMIN in the first user namespace.
sees_filters() {
	has_capability 21 && [ "$(own_status Seccomp)" = 0 ] &&
		[ "$(tr -s ' ' </proc/self/uid_map)" = " 0 0 4294967295" ]
}
# In a filter, as containers have, each target is in it, too: it can't be read, so all are refused.
unfiltered() {
	[ "$(own_status Seccomp)" = 0 ] || skip "in a filter of system calls, where all is refused"
}

# Is the library the release whose structures are known?
is_known_jemalloc() { grep -q '5\.3\.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c' "$1"; }
is_known_mimalloc() {
	[ "$(LD_PRELOAD=$1 python3 -c 'import ctypes; print(ctypes.CDLL(None).mi_version())' \
		2>/dev/null)" = 209 ]
}

# expect ACTUAL EXPECTED WHAT
expect() {
	[ "$1" = "$2" ] || fail "$3: $1, expected $2"
}

# await SECONDS COMMAND...: until the command succeeds; the time that its looks take is not counted.
# No test relies on the pace of this. Less than ten seconds are for what need not come.
await() {
	await_limit=$1 await_turn=0
	[ "$1" -lt 10 ] || await_limit=$(($1 * PATIENCE))
	shift
	until "$@" >/dev/null 2>&1; do
		await_turn=$((await_turn + 1))
		case $await_turn in
		[1-5]) sleep 0.02 ;;
		*)	# each look takes processes: fewer looks, where it takes long
			[ $await_turn -le $((await_limit * 10 + 5)) ] || return 1
			sleep 0.1 ;;
		esac
	done
}

# A process whose main thread alone has ended looks like a zombie.
is_gone() {
	kill -0 "$1" 2>/dev/null || return 0
	grep -qs '^State:.Z' "/proc/$1/status" &&
		[ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -le 1 ]
}

# A shell's background processes ignore SIGINT; ours are to take it (tools/start.c).
# background NAME COMMAND...: its input is a fifo that never ends, its output $WORK/NAME.out.
# Sets LAST to its process id.
background() {
	background_name=$1
	shift
	rm -f "$WORK/$background_name".*
	mkfifo "$WORK/$background_name.in"
	"$TOOLS/start" "$@" \
		<>"$WORK/$background_name.in" >"$WORK/$background_name.out" \
		2>"$WORK/$background_name.err" &
	LAST=$!
	own "$LAST"
}

# is_ready NAME: the victim that begins has said so, or is gone.
is_ready() { grep -q '^ready' "$WORK/$1.out" || is_gone "$VICTIM_SELF"; }

# victim NAME PROGRAM [ARGUMENTS]: starts it, waits until it is ready. Sets VICTIM (the process
# to attach to) and VICTIM_SELF (the process started; another one for those with a supervisor).
victim() {
	victim_name=$1 victim_program=$2
	shift 2
	background "$victim_name" $LOW "$VICTIMS/$victim_program" "$@"
	VICTIM_SELF=$LAST
	await 60 is_ready "$victim_name" && grep -q '^ready' "$WORK/$victim_name.out" ||
		fail "$victim_name is not ready: $(cat "$WORK/$victim_name.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/$victim_name.out" | tail -n 1)
}

# tell NAME BYTES: commands to a victim. An answer is looked for after this point.
tell() {
	TOLD=$(wc -l <"$WORK/$1.out")
	printf '%s' "$2" 1<>"$WORK/$1.in"	# a victim that is gone keeps nobody waiting
}

answered() { tail -n "+$((TOLD + 1))" "$WORK/$1.out" | grep "^$2 "; }

# answer NAME WORD: waits for the line that begins with WORD and says ok; sets ANSWER.
answer() {
	await 60 answered "$1" "$2" ||
		fail "$1 does not answer $2: $(tail -n 3 "$WORK/$1.out" "$WORK/$1.err")"
	ANSWER=$(answered "$1" "$2")
	case $ANSWER in "$2 ok"*) ;; *) fail "victim: $ANSWER" ;; esac
}

# Ends a victim that has no verdict but its exit status: ended NAME
ended() {
	tell "$1" q
	await 60 is_gone "$VICTIM_SELF" || fail "$1 does not end"
	wait "$VICTIM_SELF" || fail "$1 ended with status $?"
}

# The victim's check of itself, which must be good: checked NAME
checked() {
	tell "$1" c
	answer "$1" check
}

# Ends the victim, whose verdict must be good: finished NAME
finished() {
	tell "$1" q
	answer "$1" verdict
}

# --- memattach ---------------------------------------------------------------

# For what compares with the truth: events that are dropped because this machine is busy can't be.
EXACT="--exact --on-overflow=block"

# attach ARGUMENTS: runs it to the end. Sets STATUS; output in $REPORT and $ERRORS.
attach() {
	unfiltered
	timeout -k 10 $((${ATTACH_LIMIT:-90} * PATIENCE)) "$MEMATTACH" "$@" \
		>"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
}

# attach_begin ARGUMENTS: in the background. Sets ATTACH, its process id.
attach_begin() {
	unfiltered
	"$TOOLS/start" "$MEMATTACH" "$@" >"$REPORT" 2>"$ERRORS" </dev/null &
	ATTACH=$!
	own "$ATTACH"
}

# attach_await PID: until the hooks in PID record.
attach_await() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		"$TOOLS/ringwatch" "$1" armed 1000 >"$WORK/ringwatch" && return
		is_gone "$ATTACH" && break
	done
	fail "hooks are not armed: $(cat "$WORK/ringwatch")"
}

# attach_end [SIGNAL]: ends it as a user would, waits for it. Sets STATUS.
attach_end() {
	kill -"${1:-INT}" "$ATTACH" || fail "memattach is gone already"
	attach_wait
}

# What each process of memattach is at, for who wonders why it does not end.
attach_states() {
	for attach_pid in $(attach_processes); do
		echo "$attach_pid $(grep -E '^(State|PPid|Seccomp|TracerPid):' \
			"/proc/$attach_pid/status" | tr '\n\t' '  ')" \
			"$(cat "/proc/$attach_pid/wchan" "/proc/$attach_pid/syscall" | tr '\n' ' ')"
	done 2>/dev/null
}

attach_wait() {
	await "${LEAVE_LIMIT:-60}" is_gone "$ATTACH" || {
		attach_states
		fail "memattach does not end"
	}
	wait "$ATTACH"
	STATUS=$?
}

# The processes of a running memattach: itself and its descendants.
attach_processes() {
	attach_family="$ATTACH"
	for _ in 1 2 3; do
		for attach_parent in $attach_family; do
			attach_family="$attach_family $(
				cat "/proc/$attach_parent/task"/*/children 2>/dev/null)"
		done
	done
	echo "$attach_family" | tr -s ' ' '\n' | sort -un
}

# All of it is killed at once, as the out-of-memory killer or a careless administrator would; until
# the last is gone it holds the lock. attach_kill [PID...]: those that were its processes.
attach_kill() {
	attach_killed=${*:-$(attach_processes)}
	for attach_pid in $attach_killed; do
		kill -KILL "$attach_pid" 2>/dev/null
	done
	attach_wait
	for attach_pid in $attach_killed; do
		await 30 is_gone "$attach_pid" || fail "process $attach_pid does not end"
	done
}

# What was left in PID after that is taken out: cleaned_up PID
cleaned_up() {
	timeout 60 "$MEMATTACH" cleanup -p "$1" >"$WORK/cleanup" 2>"$ERRORS"
	expect "$?" 0 "exit status of cleanup"
	"$TOOLS/ringwatch" "$1" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
}

# Those of them that read what targets say: they are in a filter, and open no files for others.
attach_analysts() {
	for attach_pid in $(attach_processes); do
		! grep -q '^Seccomp:[[:space:]]*2' "/proc/$attach_pid/status" 2>/dev/null ||
			grep -q '^Name:[[:space:]]*memattach-files' "/proc/$attach_pid/status" ||
			echo "$attach_pid"
	done
}

# One line on the standard error, nothing on the standard output: said_one_line PATTERN
said_one_line() {
	expect "$(wc -l <"$ERRORS" | tr -d ' ')" 1 "lines on the standard error ($(cat "$ERRORS"))"
	[ ! -s "$REPORT" ] || fail "output in spite of the error: $(head -n 3 "$REPORT")"
	grep -qiE "$1" "$ERRORS" || fail "the message does not say '$1': $(cat "$ERRORS")"
}

# --- pristine ----------------------------------------------------------------

pristine_take() {
	"$TOOLS/pristine" take "$1" >"$WORK/pristine.$1" || fail "pristine take $1"
}

# pristine_check PID [--quiet|--own=ADDRESS]: --quiet for a target that changed nothing of its own
# meanwhile, --own for one that wrote to its code in the page at ADDRESS.
pristine_check() {
	"$TOOLS/pristine" compare "$1" "$WORK/pristine.$1" ${2:+"$2"} \
		>"$WORK/pristine.out" 2>&1 || fail "not pristine: $(cat "$WORK/pristine.out")"
}

# --- reports -----------------------------------------------------------------

# json EXPRESSION: of the report.
json() { jq -r "$1" "$REPORT"; }

json_expect() {
	expect "$(json "$1")" "$2" "$1"
}

# schema_valid NAME|FILE [DOCUMENT]: the document (the report) is one of docs/NAME.schema.json;
# where nobody can be asked it is JSON, at least.
schema_valid() {
	case $1 in */*) schema_file=$1 ;; *) schema_file=$SRCDIR/docs/$1.schema.json ;; esac
	python3 "$E2E/check_schema.py" "$schema_file" "${2:-$REPORT}" && return
	case $? in
	77 | 127) ;;	# no module, no python3
	*) fail "${2:-the report} is not valid by ${schema_file##*/}" ;;
	esac
	note "python3-jsonschema is not installed: schema not checked"
	jq -en input "${2:-$REPORT}" >/dev/null || fail "${2:-the report} is not JSON"
}

json_valid() { schema_valid snapshot; }

# trace_valid: the report is a log of calls as its schema says; of many lines the first and last.
trace_valid() {
	sed -n '1,1500p' "$REPORT" >"$WORK/trace.some"
	tail -n 300 "$REPORT" >>"$WORK/trace.some"
	grep -m 20 -E '^."event":"(lost|gap)"' "$REPORT" >>"$WORK/trace.some"
	schema_valid trace "$WORK/trace.some"
}

# What every good report of an attach says: report_good [MINIMUM OF ALLOCATIONS]. UNWOUND: so many
# percent of the stacks must be whole (90).
report_good() {
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .session.detached pristine
	[ "$(json .session.events.alloc)" -ge "${1:-1}" ] || fail "too few events seen"
	python3 "$E2E/check_stacks.py" "$REPORT" ${UNWOUND:-} || fail "stacks"
}

# truth NAME: has the victim do its work; its books go to $WORK/NAME.truth.
truth() {
	tell "$1" g
	await 90 grep -q '^truth .*}$' "$WORK/$1.out" || fail "no truth: $(cat "$WORK/$1.err")"
	sed -n 's/^truth //p' "$WORK/$1.out" >"$WORK/$1.truth"
}

# truth_holds NAME MODULES: the report says what the victim knows.
truth_holds() {
	python3 "$E2E/check_truth.py" "$WORK/$1.truth" "$REPORT" "$2" || fail "the truth is another"
}

# exact_session NAME MODULES [OPTIONS]: attach --exact, the work, detach, all compared.
exact_session() {
	session_name=$1 session_modules=$2
	shift 2
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json "$@"
	attach_await "$VICTIM"
	truth "$session_name"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .session.detached pristine
	json_expect .session.mode exact
	pristine_check "$VICTIM"
	truth_holds "$session_name" "$session_modules"
}

# --- as the service's user ---------------------------------------------------

# From here on memattach is run as memattach@.service runs it. What it reads and writes is in $WORK.
as_unit() {
	needs setpriv
	is_root || skip "only root can run it as another user with capabilities"
	sh "$E2E/as_unit.sh" memattach@ true 2>/dev/null ||
		skip "the capabilities of memattach@.service can't be given here"
	chmod 1777 "$WORK"
	mkdir "$WORK/unit"
	for unit_program in "$MEMATTACH" "$MEMATTACH_STEPS"; do
		[ -x "$unit_program" ] || continue
		cp "$unit_program" "$WORK/unit/" || fail "no copy of $unit_program"
		cat >"$WORK/${unit_program##*/}" <<-END
			#!/bin/sh
			exec sh "$E2E/as_unit.sh" memattach@ "$WORK/unit/${unit_program##*/}" "\$@"
		END
		chmod +x "$WORK/${unit_program##*/}"
	done
	MEMATTACH=$WORK/${MEMATTACH##*/}
	MEMATTACH_STEPS=$WORK/${MEMATTACH_STEPS##*/}
}

# AS_UNIT=1: the whole test is run so.
[ -z "${AS_UNIT:-}" ] || as_unit
