#!/bin/sh
# SPDX-License-Identifier: MIT
# A recording that somebody forged: every command that opens one ends in time, with output that
# is as it should be and no longer than the file explains, or with a line that says what is wrong.
# Values of all columns are tried by tests/unit/test_recording_forged.c.
. "$(dirname "$0")/lib.sh"
needs sqlite3 python3 jq
MOST=60000000	# bytes of output; genuine ones have a hundredth of it
MOST_EVENTS=300000000	# of one that has a line for each call

good=$WORK/good
forged=$WORK/forged
bytes() { stat -c %s "$1"; }

# try ARGUMENTS: ends in time, by itself, with a bounded output.
try() {
	case $* in *=heaptrack) most=$MOST_EVENTS ;; *) most=$MOST ;; esac
	timeout 60 "$MEMATTACH" "$@" 2>"$ERRORS" </dev/null | head -c "$((most + 1))" >"$REPORT"
	! grep -qE 'Sanitizer|runtime error|terminated' "$ERRORS" ||
		fail "$what: $*: $(cat "$ERRORS")"
	[ "$(bytes "$REPORT")" -le "$most" ] || fail "$what: $*: endless output"
	[ "$(bytes "$ERRORS")" -le 2000 ] || fail "$what: $*: $(head -c 3000 "$ERRORS")"
}

# status ARGUMENTS: sets STATUS, which is none of a signal or a timeout.
status() {
	timeout 60 "$MEMATTACH" "$@" >"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
	[ "$STATUS" -le 6 ] || fail "$what: $*: status $STATUS, $(cat "$ERRORS")"
}

# As the line that refuses another view names them.
"$MEMATTACH" report /dev/null "no-view" 2>"$ERRORS"
views=$(sed -n 's/.*; there are //p' "$ERRORS" | tr -d ,)
case $views in *overview*regions*leaks*) ;; *) fail "no views: $(cat "$ERRORS")" ;; esac
formats=$("$MEMATTACH" export --to=help | sed 's/ .*//')

# all_commands: everything that reads $forged.
all_commands() {
	for view in $views; do
		! dealt 3 || try report "$forged" "$view"
	done
	for moment in 0s 50% peak end; do
		! dealt 2 || try report "$forged@$moment"
	done
	for format in $formats; do
		! dealt 3 || try export "$forged" --to="$format"
	done
	try report "$forged" --json
	try report "$forged" "$good" --json
	try diff "$forged" "$good"
	try diff "$forged@50%" "$forged" --json
	try symbolize "$forged"
}

# refused WHAT PATTERN: by every kind of command, in one line that names the cause.
refused() {
	what=$1
	for call in "report $forged" "report $forged@end" "export $forged --to=html" \
		    "diff $good $forged" "symbolize $forged" "report $good $forged"; do
		# shellcheck disable=SC2086 # arguments
		status $call
		expect "$STATUS" 2 "$what: status of $call"
		said_one_line "$2"
		grep -q 'is not a recording, or is damaged (.*); make one with' "$ERRORS" ||
			fail "$what: $call: $(cat "$ERRORS")"
	done
}

# changed SQL
changed() {
	cp "$good" "$forged"
	sqlite3 "$forged" "$1" || fail "sqlite3: $1"
}

victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
attach -p "$VICTIM" $EXACT --leaks --heaps --interval=0.2 -d 0.7 -o "$good"
case $STATUS in 0 | 1) ;; *) fail "exit status $STATUS: $(cat "$ERRORS")" ;; esac
pristine_check "$VICTIM"
checked check
finished check
forge() { python3 "$E2E/forge_recording.py" "$1" "$good" "$forged" ${2:+"$2"} || fail "forging"; }

# Much from little.
forge names
refused 'long names' 'table sites, column stack'
for table in histogram sites frames snapshots; do
	forge pages $table
	refused "pages of $table" "table $table"
done
what=events
forge events
for format in $formats; do
	try export "$forged" --to="$format"
done

# Names that would take over the terminal, or the document.
what=escapes
forge escapes
for view in $views; do
	try report "$forged" "$view"
	! LC_ALL=C grep -q "[$(printf '\001-\011\013-\037\177')]" "$REPORT" ||
		fail "$view: a control character"
done
try report "$forged" --json
jq -en 'input | .schema' "$REPORT" >/dev/null || fail "no document"
all_commands

# What runs, what is not there, what is somebody else's.
for sql in 'CREATE VIEW v AS SELECT 1' \
	   'CREATE TRIGGER v AFTER INSERT ON symbols BEGIN SELECT 1; END' \
	   'ALTER TABLE sites ADD COLUMN v INTEGER AS (id * 2)'; do
	changed "$sql"
	refused "$sql" 'table [a-z]*, a view, a trigger, virtual or with computed columns'
done
changed 'DROP TABLE sites'
refused 'no sites' 'no such table: sites'
changed 'ALTER TABLE snapshots RENAME COLUMN time TO hour'
refused 'no time' 'table snapshots: no such column: time'
changed 'UPDATE stacks SET id = -id'
refused 'numbers of stacks' 'table stacks, column id: none of a stack'
changed 'PRAGMA application_id = 7'
refused 'another program' 'application_id'
head -c 9000 "$good" >"$forged"
refused 'cut' 'damaged'

# What can be done without is left out, and said so.
what='parts'
changed "UPDATE site_lives SET time = -1; UPDATE regions SET kind = 99;
	 UPDATE heap_bins SET part = 77"
all_commands
status report "$forged"
expect "$STATUS" 0 "status of a report without parts"
grep -q 'left out: lifetimes.*table site_lives.*mappings.*table regions.*table heap_bins' \
	"$ERRORS" || fail "what is left out is not said: $(cat "$ERRORS")"

# A terabyte of holes costs nothing.
what=holes
cp "$good" "$forged"
truncate -s 1T "$forged" || note "no large files here"
all_commands

# What waits for somebody, or never ends.
for file in /dev/zero "$WORK" /nonexistent; do
	what=$file
	status report "$file"
	expect "$STATUS" 2 "status of $file"
done
mkfifo "$WORK/fifo"
what=fifo
for command in report symbolize 'export --to=json'; do
	# shellcheck disable=SC2086 # words
	status $command "$WORK/fifo"
	expect "$STATUS" 2 "status of $command of a pipe"
	said_one_line 'no regular file'
done
