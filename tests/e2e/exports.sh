# SPDX-License-Identifier: MIT
# What the tests of exports share. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154
. "$E2E/servers.sh"
RECORDING=$WORK/recording	# or a moment of it; its document is in $REPORT
PPROF=			# Go's pprof, once pprof_built was true
left_out=

# target_recorded SECONDS [INTERVAL]: $WORK/recording, exact, of a program at work: TARGET says of
# which (make check-targets), SECONDS_WATCHED for how long. Its document is in $REPORT.
target_recorded() {
	case ${TARGET:-demo} in
	demo) demo_server_start ;;
	redis)
		needs redis-server redis-cli redis-benchmark
		redis_start && redis_load ;;
	postgres) postgres_start && postgres_load ;;
	*) fail "no such target: $TARGET" ;;
	esac
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d "${SECONDS_WATCHED:-$1}" $EXACT --json --interval="${2:-0.2}" \
		-o "$WORK/recording"
	report_good 200
	pristine_check "$VICTIM"
	case ${TARGET:-demo} in
	demo) kill "$DEMO" ;;
	*) "${TARGET}_load_end" ;;
	esac
	attach report --json "$WORK/recording"
	expect "$STATUS" 0 "exit status of report"
}

# has PROGRAM: or it is left out.
has() {
	command -v "$1" >/dev/null 2>&1 && return
	left_out="$left_out $1"
	return 1
}

# exported FORMAT [NAME [OPTIONS]]: to $WORK/NAME.
exported() {
	exported_format=$1 exported_name=${2:-$1}
	[ $# -lt 2 ] || shift
	shift
	"$MEMATTACH" export "$RECORDING" --to="$exported_format" \
		-o "$WORK/$exported_name" "$@" 2>"$ERRORS" || fail "export --to=$exported_format"
	MERGED=
	[ "$exported_format" != heaptrack ] || MERGED=$(sed -n \
		'1,4s/^# \([0-9]*\) allocations are .*/\1/p' "$WORK/$exported_name")
	export MERGED
}

# same READER OUTPUT [FIGURE]: what the reader printed is what we say.
same() {
	python3 "$E2E/check_export.py" "$1" "$REPORT" "$WORK/$2" ${3:+"$3"} ||
		fail "the figures of $1 differ"
}

# Go's pprof, from Debian's sources, made once for all tests of this build.
pprof_built() {
	[ -z "$PPROF" ] || [ -x "$PPROF" ] || return
	PPROF=$BUILDDIR/pprof-reader
	[ ! -x "$PPROF" ] || return 0
	if command -v go >/dev/null && [ -d /usr/share/gocode/src/github.com/google/pprof ]; then
		HOME=$WORK GOCACHE=$WORK/go GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS= \
			go build -o "$PPROF.$$" github.com/google/pprof >"$WORK/go.out" 2>&1 &&
			mv "$PPROF.$$" "$PPROF" && return
	fi
	left_out="$left_out pprof(golang-go,golang-github-google-pprof-dev)"
	return 1
}

# top FIGURE OPTIONS: pprof's lines, one a function, all of them, in bytes; '': not compared.
top() {
	top_figure=$1
	shift
	"$PPROF" -symbolize=none -top -unit=B -nodefraction=0 -nodecount=0 "$@" \
		>"$WORK/pprof.out" 2>"$WORK/pprof.err" || fail "pprof: $(cat "$WORK/pprof.err")"
	[ -z "$top_figure" ] || same top pprof.out "$top_figure"
}

say_left_out() { [ -z "$left_out" ] || note "not installed, left out:$left_out"; }
