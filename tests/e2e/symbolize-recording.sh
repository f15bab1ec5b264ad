#!/bin/sh
# SPDX-License-Identifier: MIT
# symbolize: a recording without names gets those that its session would have given it, from the
# files where they are, from folders, from debug files and from debuginfod; never from another
# build; and a failure leaves it as it was.
. "$(dirname "$0")/lib.sh"
needs jq sqlite3 objcopy readelf python3
victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json -o "$WORK/whole"
attach_await "$VICTIM"
truth truth
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
ended truth

db() { sqlite3 "$WORK/recording" "$1"; }
symbols() { sqlite3 "$1" 'SELECT * FROM symbols ORDER BY frame, depth'; }
# Without names, as after a SIGKILL; BINARY where PATH says (default: where it was).
unnamed() {
	cp "$WORK/whole" "$WORK/recording"
	db "DELETE FROM symbols;
	    UPDATE modules SET path = '${1:-$VICTIMS/truth_c}' WHERE path LIKE '%/truth_c'"
}
# The names that the session gave: all frames of files (not the vdso).
files="frame IN (SELECT frames.id FROM frames JOIN modules ON modules.id = frames.module
	WHERE kind = 0)"
named_as_before() {
	sqlite3 "$WORK/whole" "SELECT frame, depth, function, function_offset, file, line, column,
		build_id, offset, inlined FROM symbols WHERE $files $1" >"$WORK/wanted"
	db "SELECT frame, depth, function, function_offset, file, line, column,
		build_id, offset, inlined FROM symbols WHERE $files $1" >"$WORK/got"
	[ -s "$WORK/wanted" ] || fail "there is nothing to compare"
	diff "$WORK/wanted" "$WORK/got" >"$WORK/differences" ||
		fail "$2: $(head -n 5 "$WORK/differences")"
}
own="AND build_id = '$(readelf -n "$VICTIMS/truth_c" | sed -n 's/.*Build ID: //p')'"

# Where the files were.
unset DEBUGINFOD_URLS
unnamed
attach report "$WORK/recording"
! grep -q case_malloc "$REPORT" || fail "it has names already"
attach symbolize "$WORK/recording"
expect "$STATUS" 0 "exit status"
named_as_before '' "names from the files themselves"
grep -q 'got names or lines' "$REPORT" || fail "does not say what it did: $(cat "$REPORT")"
attach report "$WORK/recording"
grep -q case_malloc "$REPORT" || fail "the report has no names"
[ ! -e "$WORK/recording-journal" ] && [ ! -e "$WORK/recording-wal" ] || fail "it is not one file"
# What it has stays.
symbols "$WORK/recording" >"$WORK/before"
attach symbolize "$WORK/recording"
symbols "$WORK/recording" | diff - "$WORK/before" >"$WORK/differences" || fail "names changed"

# On another machine: not there, and said where it was looked for.
unnamed /opt/elsewhere/truth_c
attach symbolize "$WORK/recording"
expect "$STATUS" 0 "exit status without the program"
grep -q 'no file with build id' "$REPORT" || fail "does not say what is missing: $(cat "$REPORT")"
grep -q 'looked for in vain: /opt/elsewhere/truth_c (not there), /usr/lib/debug/.*debuginfod (' \
	"$REPORT" || fail "does not say where it looked: $(cat "$REPORT")"
expect "$(db "SELECT count(*) FROM symbols WHERE file LIKE '%truth_c.c'")" 0 "names from nowhere"
# In a folder: by its name, under its path.
mkdir -p "$WORK/flat" "$WORK/root/opt/elsewhere" "$WORK/wrong"
cp "$VICTIMS/truth_c" "$WORK/flat/"
cp "$VICTIMS/truth_c" "$WORK/root/opt/elsewhere/"
for folder in flat root; do
	unnamed /opt/elsewhere/truth_c
	attach symbolize "$WORK/recording" --search="$WORK/$folder"
	expect "$STATUS" 0 "exit status with a folder"
	named_as_before "$own" "names from the folder $folder"
done
# Another build of the same name is not believed.
cp "$VICTIMS/churn" "$WORK/wrong/truth_c"
unnamed /opt/elsewhere/truth_c
attach symbolize "$WORK/recording" --search="$WORK/wrong" --search="$WORK/flat"
named_as_before "$own" "names from the second folder"
unnamed /opt/elsewhere/truth_c
attach symbolize "$WORK/recording" --search="$WORK/wrong"
grep -q 'wrong/truth_c (another build' "$REPORT" || fail "another build: $(cat "$REPORT")"
expect "$(db "SELECT count(*) FROM symbols WHERE build_id = '${own#*"'"}")" 0 \
	"names of another build"

# A debug file alone: names and lines. It has no code to find the place of calls in.
id=${own#*"'"} id=${id%"'"}
start=$(printf %.2s "$id") rest=${id#??}
mkdir -p "$WORK/debug/.build-id/$start"
objcopy --only-keep-debug "$VICTIMS/truth_c" "$WORK/debug/.build-id/$start/$rest.debug"
unnamed /opt/elsewhere/truth_c
attach symbolize "$WORK/recording" --search="$WORK/debug"
sqlite3 "$WORK/whole" "SELECT frame, depth, function, file, line FROM symbols WHERE $files $own" \
	>"$WORK/wanted"
db "SELECT frame, depth, function, file, line FROM symbols WHERE $files $own" >"$WORK/got"
cmp -s "$WORK/wanted" "$WORK/got" || fail "names from a debug file: $(cat "$REPORT")"

# debuginfod: the stripped program and its debug information come from a server (here: files).
served=$WORK/served/buildid/$id
mkdir -p "$served" "$WORK/cache"
objcopy --strip-all "$VICTIMS/truth_c" "$served/executable"
cp "$WORK/debug/.build-id/$start/$rest.debug" "$served/debuginfo"
if [ -e /usr/lib/x86_64-linux-gnu/libdebuginfod.so.1 ]; then
	unnamed /opt/elsewhere/truth_c
	DEBUGINFOD_URLS=file://$WORK/served DEBUGINFOD_CACHE_PATH=$WORK/cache
	export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
	attach symbolize "$WORK/recording"
	unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
	expect "$STATUS" 0 "exit status with debuginfod"
	named_as_before "$own" "names from debuginfod ($(cat "$REPORT"))"
else
	note "libdebuginfod is not installed: not tried"
fi

# No room: it is as it was, and says so.
if is_root && unshare -m sh -c : 2>/dev/null; then
	unnamed
	sqlite3 "$WORK/recording" .dump >"$WORK/before"
	size=$(stat -c %s "$WORK/recording")
	mkdir "$WORK/small"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size=$(($3 / 1024 + 8))k none "$1" || exit 77
		cp "$2" "$1/recording" || exit 99
		timeout 60 "$4" symbolize "$1/recording" >"$5" 2>"$6" </dev/null
		status=$?
		cp "$1/recording" "$2"
		[ ! -s "$1/recording-journal" ] || exit 98
		exit $status' sh "$WORK/small" "$WORK/recording" "$size" "$MEMATTACH" "$REPORT" \
		"$ERRORS"
	STATUS=$?
	[ "$STATUS" -ne 77 ] || skip "tmpfs can't be mounted"
	expect "$STATUS" 6 "exit status without room"
	said_one_line 'which is as it was: No space left'
	sqlite3 "$WORK/recording" .dump | cmp -s - "$WORK/before" || fail "it is not as it was"
fi

# What is no recording, and what may not be written.
attach symbolize /dev/null
expect "$STATUS" 2 "exit status of no recording"
said_one_line 'null'
attach symbolize "$WORK/none"
said_one_line 'No such file'
attach symbolize
said_one_line 'usage'
if ! is_root; then
	chmod 444 "$WORK/recording"
	attach symbolize "$WORK/recording"
	expect "$STATUS" 6 "exit status of a file that may not be written"
	said_one_line 'as it was'
fi

# Killed in the midst of writing, its journal is left: told as that, and undone by the next.
unnamed
python3 - "$WORK/recording" "$WORK/torn" <<'END' || fail "no journal"
import shutil, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size=2")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE stack_frames SET frame = 1")
db.execute("UPDATE sites SET live_bytes = 7")
for suffix in ("", "-journal"):
    shutil.copy(sys.argv[1] + suffix, sys.argv[2] + suffix)
END
cp "$WORK/torn-journal" "$WORK/journal"
for command in report 'export --to=json'; do
	# shellcheck disable=SC2086 # words
	attach $command "$WORK/torn"
	expect "$STATUS" 2 "$command of a torn recording"
	said_one_line 'memattach symbolize FILE'
	cmp "$WORK/journal" "$WORK/torn-journal" || fail "$command changed it"
done
# Not by a journal that has SQLite delete other files.
printf '\331\325\005\371\040\241\143\327' >>"$WORK/torn-journal"
attach symbolize "$WORK/torn"
expect "$STATUS" 2 "symbolize with a forged journal"
said_one_line 'journal beside it is none of memattach'
cp "$WORK/journal" "$WORK/torn-journal"
attach symbolize "$WORK/torn"
expect "$STATUS" 0 "symbolize of a torn recording: $(cat "$ERRORS")"
expect "$(sqlite3 "$WORK/torn" 'PRAGMA integrity_check')" ok "the database"
expect "$(sqlite3 "$WORK/torn" 'SELECT count(*) FROM sites WHERE live_bytes = 7')" 0 "undone"
attach report "$WORK/torn"
expect "$STATUS" 0 "report afterwards"
