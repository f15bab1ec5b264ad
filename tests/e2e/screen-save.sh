#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen: a snapshot that can't be made, or not be written to its end (a folder where nothing
# can be made, a limit of file sizes): the last line says why, no half of one is left, and
# the session goes on. The next one is whole.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
needs prlimit

clock() { capture; sed -n '1s/.*exact *\([^ ].*[^ ]\) *$/\1/p' "$SHOWN"; }
moved() { [ "$(clock)" != "$stands" ]; }
goes_on() {
	stands=$(clock)
	await 20 moved || fail "the session does not go on: $(cat "$SHOWN")"
}

# begin FOLDER
begin() {
	victim truth truth_c
	pristine_take "$VICTIM"
	SCREEN_FOLDER=$1
	screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.2
	attach_await "$VICTIM"
	shown 'rate .*allocs in all'
	truth truth
	shown "^ live .* in $(jq .totals.live_count "$WORK/truth.truth") blocks"
	screen_children || fail "screen, keeper and analyst are not there"
}

end() {
	keys q
	screen_end
	expect "$STATUS" 0 "exit status"
	grep -q 'watched process' "$WORK/after" || fail "no report after the screen"
	pristine_check "$VICTIM"
	tmux_do kill-server
	ended truth
}

note "no place for files"
mkdir "$WORK/gone"
if is_root; then folder=/proc; else folder=$WORK/gone && chmod 555 "$folder"; fi
begin "$folder"
keys s
shown "can't make memattach-$VICTIM-1.json here: (Permission denied|No such file)"
goes_on
keys s
shown "can't make memattach-$VICTIM-1.json here: "
end

note "a limit of file sizes"
mkdir "$WORK/here"
begin "$WORK/here"
prlimit --pid "$ANALYST" --fsize=1000: || fail "no limit"
keys s
shown "can't write memattach-$VICTIM-1.json: File too large"
await 20 test ! -e "$WORK/here/memattach-$VICTIM-1.json" || fail "half a document is left"
goes_on
prlimit --pid "$ANALYST" --fsize=unlimited: || fail "no limit can be taken back"
keys s
shown "saved [0-9]+ sites, .* to memattach-$VICTIM-1.json"
cp "$WORK/here/memattach-$VICTIM-1.json" "$REPORT"
json_valid

note "what is there already is not touched"
echo mine >"$WORK/here/memattach-$VICTIM-2.json"
prlimit --pid "$ANALYST" --fsize=1000: || fail "no limit"
keys s
shown "can't write memattach-$VICTIM-3.json: File too large"
await 20 test ! -e "$WORK/here/memattach-$VICTIM-3.json" || fail "half a document is left"
expect "$(cat "$WORK/here/memattach-$VICTIM-2.json")" mine "a file that was there"
json_valid
goes_on
end
