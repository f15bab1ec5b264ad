#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that was started a moment ago: its loader has not mapped libc yet. It is waited for,
# and then watched as any other. One that never gets that far is refused, with a reason; one that
# calls exec again and again is told as what it is, never harmed.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"

# The loader waits in open for somebody to write; what it reads is no library, and is ignored.
# held NAME: a victim there. Sets VICTIM, VICTIM_SELF.
held() {
	mkfifo "$WORK/library.$1"
	background "$1" env LD_PRELOAD="$WORK/library.$1" "$VICTIMS/truth_c"
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 20 at_library "$1" || fail "the loader does not come to its library"
}

# Opening it is what the loader's thread sleeps in, and env is not the program any more.
at_library() {
	grep -q '/truth_c' "/proc/$VICTIM/maps" && ! grep -q 'libc\.so' "/proc/$VICTIM/maps" &&
		grep -q '^State:.S' "/proc/$VICTIM/status"
}

held young
attach_begin -p "$VICTIM" $EXACT --json
sleep 0.3
is_gone "$ATTACH" && fail "it is not waited for: $(cat "$ERRORS")"
: >"$WORK/library.young"
attach_await "$VICTIM"
await 60 grep -q '^ready' "$WORK/young.out" || fail "it does not run on"
truth young
attach_end INT
report_good
truth_holds young truth_c
ended young

held stuck
attach -p "$VICTIM" -d 1
expect "$STATUS" 3 "exit status for a process whose loader never comes to an end"
said_one_line 'still loading'
: >"$WORK/library.stuck"
await 60 grep -q '^ready' "$WORK/stuck.out" || fail "it does not run on"
ended stuck

cat >"$WORK/again.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	usleep(2000);
	execv(argv[0], argv);
	return 1;
}
END
$CC -o "$WORK/again" "$WORK/again.c" || fail "the program does not build"
background again "$WORK/again"
again=$LAST
for task in "leaks -p" "check -p" "-d 1 -p" "leaks -p" "-d 1 -p" "leaks -p"; do
	# shellcheck disable=SC2086 # words
	attach $task "$again"
	! grep -qE 'Stale|No such file|Input/output|Bad address' "$ERRORS" ||
		fail "$(cat "$ERRORS")"
	! is_gone "$again" || fail "it is gone"
	case $STATUS in
	0 | 3 | 4) ;;
	5)	# exec came in the very moment of the picture: its dead child is left, and told
		grep -q 'memattach cleanup -p' "$ERRORS" || fail "no remedy: $(cat "$ERRORS")"
		break ;;
	*)	fail "exit status $STATUS of $task: $(cat "$ERRORS")" ;;
	esac
	[ -z "$(cat "/proc/$again/task/$again/children")" ] || fail "a child is left"
done
