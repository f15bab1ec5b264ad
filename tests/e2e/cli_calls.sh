# SPDX-License-Identifier: MIT
# The ways to call memattach that name no process, for the tests that look at the
# program's own memory. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2154

# cli_recording: makes $WORK/recording, $WORK/half of one and $WORK/document (JSON), by the program
# as it was built.
cli_recording() {
	"$BUILDDIR/cli/memattach" run $EXACT -o "$WORK/recording" -- sh -c 'echo "$(id)"' \
		>"$WORK/run.out" 2>"$WORK/run.err" </dev/null ||
		fail "no recording: $(cat "$WORK/run.err")"
	head -c 5000 "$WORK/recording" >"$WORK/half"
	"$BUILDDIR/cli/memattach" report --json "$WORK/recording" >"$WORK/document" ||
		fail "no document"
}

# No process has the ids 4194303 and 4194304, should one of these calls be none that is refused.
# cli_calls RUN: calls RUN STATUS ARGUMENTS... for each; STATUS is what memattach shall end with.
cli_calls() {
	"$1" 0 --help
	"$1" 0 --version
	"$1" 0 report "$WORK/recording"
	"$1" 0 report --json "$WORK/recording"
	"$1" 0 report --top 1 "$WORK/recording"
	for view in overview hotspots tree flame histogram timeline temporary peak lifetimes \
		blocks filter source; do
		"$1" 0 report "$WORK/recording" "$view"
		"$1" 0 report "$WORK/recording" "$view" --json
	done
	"$1" 0 report "$WORK/recording" tree --reverse --depth=3 --module=libc --inline=no
	"$1" 0 report "$WORK/recording" filter --thread=1
	"$1" 2 report "$WORK/recording" filter --thread=nobody
	"$1" 2 report "$WORK/recording" peak --thread=1
	"$1" 2 report "$WORK/half"
	"$1" 2 report /dev/null
	"$1" 2 report /nonexistent
	"$1" 2 report "$WORK/recording" twice
	"$1" 2 report --top=-1 "$WORK/recording"
	"$1" 2 report
	"$1" 0 diff "$WORK/document" "$WORK/document"
	"$1" 0 diff "$WORK/document" "$WORK/document" --json
	"$1" 0 export --to=help
	for format in folded pprof speedscope gperftools massif callgrind heaptrack json csv svg \
		svg-timeline; do
		[ "$format" != pprof ] || grep -q 'define HAVE_PPROF' "$BUILDDIR/config.h" ||
			continue
		"$1" 0 export "$WORK/recording" --to="$format" -o "$WORK/exported"
	done
	"$1" 2 export "$WORK/half" --to=folded
	"$1" 2 export "$WORK/recording" --to=folded -o "$WORK/half"
	"$1" 2 diff "$WORK/document" "$WORK/half"
	"$1" 2 diff "$WORK/document"
	"$1" 2
	"$1" 2 no-such-command
	"$1" 2 --no-such-option
	"$1" 2 -p
	"$1" 2 -p not-a-number
	"$1" 2 -p 4194304 -p 4194303 --trace-to=1000
	"$1" 2 -p 4194304 --sample=many
	"$1" 2 -p 4194304 --exact --sample=4096
	"$1" 2 -p 4194304 -d forever
	"$1" 2 check -p 4194304 extra
	"$1" 2 check -p 4194304 --exact
	"$1" 2 -p 4194304 --to=folded -d 1
	"$1" 2 report "$WORK/recording" hotspots --reverse
	"$1" 2 run
}
