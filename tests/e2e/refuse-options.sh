#!/bin/sh
# SPDX-License-Identifier: MIT
# Wrong use: one line on the standard error, status 2, the target untouched.
. "$(dirname "$0")/lib.sh"

victim idle processes --kind=idle
pristine_take "$VICTIM"

# wrong ARGUMENTS
wrong() {
	timeout 10 "$MEMATTACH" "$@" >"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
	expect "$STATUS" 2 "exit status of: $*"
	said_one_line '.'
}

wrong --no-such-option
wrong -p "$VICTIM" --no-such-option
wrong -p
wrong -p not-a-number
wrong -p -5
wrong -p "$VICTIM" -d forever
wrong -p "$VICTIM" -d -1
wrong -p "$VICTIM" --sample=0
wrong -p "$VICTIM" --sample=many
wrong -p "$VICTIM" --exact --sample=4096
wrong -p "$VICTIM" --overhead=0
wrong -p "$VICTIM" --overhead=101
wrong -p "$VICTIM" --overhead=little
wrong -p "$VICTIM" --overhead=1 --exact
wrong -p "$VICTIM" --overhead=1 --counts
wrong -p "$VICTIM" --sample=4096 --overhead=1
wrong -p "$VICTIM" --loader=magic
wrong -p "$VICTIM" --exact --frees=some
wrong -p "$VICTIM" --frees=stacks
wrong -p "$VICTIM" --interval=0
wrong -p "$VICTIM" --top=-1
wrong -p "$VICTIM" --leaks -d 3 --snapshot=stop
wrong -p "$VICTIM" --leaks --snapshot=maybe
wrong -p "$VICTIM" --leaks --roots=everything
wrong -p "$VICTIM" --leaks --suppressions=/no/such/file
wrong -p "$VICTIM" --leaks --show-bytes=0
wrong -p "$VICTIM" --leaks --show-bytes=4097
wrong -p "$VICTIM" --leaks --show-bytes=some
wrong -p "$VICTIM" --show-bytes=64
wrong -p "$VICTIM" --leaks --access=0.5
wrong -p "$VICTIM" --leaks --access=3601
wrong -p "$VICTIM" --leaks --access=long
wrong -p "$VICTIM" -d 1 --access=3
wrong leaks -p "$VICTIM" --access=3 --trace-to=1000
wrong check -p "$VICTIM" --access=3
wrong run --access=3 -- true
wrong run --show-bytes=64 -- true
wrong check -p "$VICTIM" --show-bytes=64
wrong diff --show-bytes=64 one.json two.json
wrong report --show-bytes=64 recording
wrong -p "$VICTIM" -d 1 --history=recording
wrong -p "$VICTIM" --leaks -d 0 --history=recording
wrong leaks -p "$VICTIM" --history=recording
mkfifo "$WORK/pipe"
wrong -p "$VICTIM" --leaks -d 1 --history="$WORK/pipe"
wrong report "$WORK/pipe"
wrong run --history=recording -- true
wrong check -p "$VICTIM" --history=recording
wrong report --history=one two
wrong report recording no-such-view
wrong report recording --to=pprof
wrong -p "$VICTIM" --to=pprof
wrong run --to=pprof -- true
wrong diff one two --to=json
wrong report recording --search=/
wrong trace -p "$VICTIM" --search=/
wrong report recording tree --view=peak
wrong diff one two three
wrong symbolize one two
wrong export one two --to=json
wrong export
wrong export recording
wrong export --to=folded
wrong export recording --to=nothing
wrong export recording other --to=folded
wrong export recording --to=folded --by=nothing
wrong export /no/such/recording --to=folded
wrong export "$WORK/pipe" --to=folded
wrong report recording leaks more
wrong leaks
wrong leaks -p "$VICTIM" --trace-to=nowhere
wrong run --leaks --snapshot=stop -- true
wrong diff one.json
wrong no-such-command
wrong check
wrong cleanup
wrong report
wrong run

timeout 10 "$MEMATTACH" --help >"$WORK/help" || fail "--help"
grep -q -- '-p PID' "$WORK/help" || fail "--help does not say how it is used"
timeout 10 "$MEMATTACH" --version | grep -q '^memattach ' || fail "--version"
pristine_check "$VICTIM" --quiet
finished idle
