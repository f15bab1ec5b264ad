#!/bin/sh
# SPDX-License-Identifier: MIT
# A memory error of the program's, which ends it where nothing is mapped, ends it beside our memory
# as well: what the program may write there has a page on each side that nobody may touch.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"

# guarded LOADER: each of our mappings that may be written, in the maps of $VICTIM.
guarded() {
	awk '{
		split($1, range, "-")
		ours = $6 ~ /memfd:memattach-/
		run = ours || ($6 == "" && run && range[1] == end)
		if (run && $2 ~ /^.w/) {
			if (!was_run || !was_fenced)
				bad = bad " no guard below " range[1]
			writable++
			pending = range[2]
		} else if (pending) {
			if (range[1] != pending || $2 !~ /^---/)
				bad = bad " no guard above " pending
			pending = ""
		}
		# nothing may be written there: code, a guard, or the part before of the same
		was_fenced = run && ($2 !~ /^.w/ || was_fenced)
		was_run = run
		end = range[2]
	} END {
		if (pending) bad = bad " no guard above " pending
		if (writable < 2) bad = bad " " writable + 0 " mappings that may be written"
		if (bad) { print bad; exit 1 }
	}' "/proc/$VICTIM/maps" >"$WORK/guards" ||
		fail "$1: $(cat "$WORK/guards" "/proc/$VICTIM/maps")"
}

victim steady leaky
pristine_take "$VICTIM"
for loader in map dlopen; do
	attach_begin -p "$VICTIM" --exact --json -d 60 --loader="$loader"
	attach_await "$VICTIM"
	guarded "$loader"
	attach_end
	expect "$STATUS" 0 "exit status, $loader"
	json_expect .session.loader "$loader"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
done

# One that copies more than a block of its own holds, which lies right below what is mapped last.
cat >"$WORK/overflows.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char much[4 << 20];
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
int main(void)
{
	copy(malloc(256 * 1024), much, sizeof(much));
	puts("survived");
}
END
$CC -w -O0 -o "$WORK/overflows" "$WORK/overflows.c" || fail "no program"
"$WORK/overflows" >"$WORK/alone" 2>&1
expect $? 139 "its end without memattach"
"$MEMATTACH" run --exact --json -- "$WORK/overflows" >"$REPORT" 2>"$ERRORS"
! grep survived "$REPORT" "$ERRORS" || fail "our memory took what ends it"
grep -q 'was killed by signal 11' "$ERRORS" || fail "the signal is not told"
json_valid
json_expect .session.killed_by_signal 11
