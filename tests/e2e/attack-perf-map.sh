#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker owns a process with code of no file, whose names stand in /tmp/perf-PID.map: anybody
# can put something else there. Only a file of the owner's own, with that one name, is read: nothing
# of what root alone may read is shown, nothing is waited for, and no hole takes memory.
. "$(dirname "$0")/lib.sh"
needs jq setpriv python3 "${CC%% *}"
is_root || skip "only root can read what the owner of a process may not"
may_trace_others || skip "no CAP_SYS_PTRACE"
USER=61008
cat >"$WORK/jit.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{	/* push rbp; mov rbp, rsp; mov edi, 1000; mov rax, malloc; call rax; pop rbp; ret */
	unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xbf, 0xe8, 3, 0, 0, 0x48, 0xb8, 0, 0, 0,
				 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
	void *(*called)(size_t) = malloc;
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code + 11, &called, 8);
	memcpy(at, code, sizeof(code));
	printf("ready %lx %zx\n", (unsigned long)at, sizeof(code));
	fflush(stdout);
	for (;;) {
		free(((void *(*)(void))at)());
		usleep(1000);
	}
}
END
$CC -O0 -w -o "$WORK/jit" "$WORK/jit.c" || fail "no program"
chmod 711 "$WORK"
background jit setpriv --reuid=$USER --regid=$USER --clear-groups "$WORK/jit"
VICTIM=$LAST
await 30 grep -q '^ready' "$WORK/jit.out" || fail "the victim does not run: $(cat "$WORK/jit.err")"
pristine_take "$VICTIM"
map=/tmp/perf-$VICTIM.map
trap 'rm -rf "$map" "$map.other"; tidy_up' EXIT
! [ -e "$map" ] || fail "$map is there already"
line=$(sed -n 's/^ready //p' "$WORK/jit.out")
printf '%s shown_name\n' "$line" >"$WORK/map"
printf '%s SECRET_name\n' "$line" >"$WORK/secret"
chmod 600 "$WORK/secret"

# looked NAME: what a session says of it; in JSON, as text.
looked() {
	looked_name=$1
	attach -p "$VICTIM" -d 0.3 --exact --json --max-memory=64M
	expect "$STATUS" 0 "exit status, $1"
	json_expect .session.detached pristine
	json_valid
	pristine_check "$VICTIM"
}
has_name() { jq -r '.sites[].frames[].function' "$REPORT" | grep -qx "$1"; }
unread() {
	looked "$1"
	! grep -q 'SECRET\|shown_name' "$REPORT" || fail "$1: $(grep 'SECRET\|shown' "$REPORT")"
	rm -rf "$map" "$map.other"
}

# The control: the owner's own file.
cp "$WORK/map" "$map"
chown $USER "$map"
looked "the owner's own"
has_name shown_name || fail "the map is not read: $(json '[.sites[].frames[].function]')"
rm "$map"

ln -s "$WORK/secret" "$map"
unread "a link to root's"
ln -s "$map.other" "$map"
cp "$WORK/map" "$map.other"
chown $USER "$map.other"
unread "a link to the owner's own"
# Where the attacker may make one, a second name of root's file is root's file.
cp "$WORK/secret" "$map.other"
ln "$map.other" "$map"
unread "a second name of root's"
cp "$WORK/secret" "$map"
chmod 644 "$map"
unread "another's"
mkfifo "$map"
chown $USER "$map"
unread "a pipe"
mkdir "$map"
unread "a folder"

# most COMMAND...: the most memory, in KiB, that any process of it has.
cat >"$WORK/most.py" <<'END'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdin=subprocess.DEVNULL)
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
END
cp "$WORK/map" "$map"
chown $USER "$map"
truncate -s 8G "$map" || fail "no large file"
cat "$WORK/map" >>"$map"
python3 "$WORK/most.py" "$WORK/most" "$MEMATTACH" -p "$VICTIM" -d 0.3 --exact --json \
	--max-memory=64M >"$REPORT" 2>"$ERRORS" || fail "a file of holes: $(cat "$ERRORS")"
[ "$(cat "$WORK/most")" -lt 200000 ] || fail "a file of holes takes $(cat "$WORK/most") KiB"
pristine_check "$VICTIM"
note "a file of holes: $(cat "$WORK/most") KiB"
