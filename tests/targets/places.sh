#!/bin/sh
# SPDX-License-Identifier: MIT
# Places that a target may be in: roots of other releases of Debian, with their own libc (glibc 2.31
# to 2.41, by mmdebstrap), and one of musl; without /proc, read-only, and in namespaces of its own
# (mount, pid, network, IPC, UTS, user). In each a program is watched event by event by both
# loaders, which finds its 1,000 blocks and the 400 that live; and searched for leaks. It is left
# as it was each time. Roots are kept in the build folder. PLACES: only those. Prints a row each.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq python3 unshare chroot
is_root || skip "roots of other systems can be made by root alone"
: "${ROOTS:=$BUILDDIR/targets-places}"
mkdir -p "$ROOTS"

# In Python: ctypes calls libc's own malloc. Addresses are in no object of Python's for long, as
# those of a heap in the first GiB would be words in memory that look like references.
cat >"$WORK/program.py" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
os.write(1, b"ready %d\n" % os.getpid())
while True:
    command = os.read(0, 1)
    if command != b"r":
        sys.exit(0 if command == b"q" else 3)
    blocks = (ctypes.c_void_p * 1000)()
    for i in range(1000):
        blocks[i] = libc.malloc(12345)
    for i in range(600):
        libc.free(blocks[i])
    for i in range(600, 1000):	# what lay there before may point at others
        ctypes.memset(blocks[i], 0, 12345)
    ctypes.memset(blocks, 0, ctypes.sizeof(blocks))
    os.write(1, b"ran ok\n")
END

# The same in C, for musl.
cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *block[1000];
static void say(const char *text) { if (write(1, text, strlen(text)) < 0) _exit(3); }
int main(void)
{
	char command;
	say("ready 1\n");
	while (read(0, &command, 1) == 1 && command == 'r') {
		for (int i = 0; i < 1000; i++)
			block[i] = malloc(12345);
		for (int i = 0; i < 600; i++)
			free(block[i]);
		for (int i = 600; i < 1000; i++)
			memset(block[i], 0, 12345);
		memset(block, 0, sizeof(block));
		say("ran ok\n");
	}
	return command == 'q' ? 0 : 3;
}
END

# debian SUITE: its root, made once. Sets ROOT.
debian() {
	ROOT=$ROOTS/$1
	if [ ! -e "$ROOT/made" ]; then
		rm -rf "$ROOT"
		mmdebstrap --variant=minbase --include=python3 "$1" "$ROOT" \
			http://deb.debian.org/debian >"$WORK/mmdebstrap" 2>&1 || {
			note "| $1 | its root can't be made here:" \
				"$(tail -n 1 "$WORK/mmdebstrap") | |"
			return 1
		}
		touch "$ROOT/made"
	fi
	cp "$WORK/program.py" "$ROOT/place.py"
	PROGRAM='python3 /place.py'
	# shellcheck disable=SC2016
	LIBC="glibc $(chroot "$ROOT" dpkg-query -W -f='${Version}' libc6)"
}

# musl: a root with nothing but the loader, which is the libc, and the program.
musl() {
	ROOT=$ROOTS/musl
	command -v musl-gcc >/dev/null || {
		note "| musl | musl-gcc is not installed | |"
		return 1
	}
	mkdir -p "$ROOT/lib"
	musl-gcc -O1 -o "$ROOT/place" "$WORK/program.c" || fail "no program by musl-gcc"
	cp -L /lib/ld-musl-x86_64.so.1 "$ROOT/lib/"
	PROGRAM=/place
	LIBC="musl $(dpkg-query -W -f='${Version}' musl)"
}

# The innermost descendant of a process.
innermost() {
	inner=$1
	while next=$(tr ' ' '\n' <"/proc/$inner/task/$inner/children" | head -n 1) &&
		[ "$next" ]; do
		inner=$next
	done
	echo "$inner"
}

# place_starts COMMAND...: sets VICTIM, and VICTIM_SELF.
place_starts() {
	background place "$@"
	VICTIM_SELF=$LAST
	await 60 is_ready place
	grep -q '^ready' "$WORK/place.out" || fail "no program: $(cat "$WORK/place.err")"
	VICTIM=$(innermost "$VICTIM_SELF")
	own "$VICTIM"
}

# events LOADER: what the program did, exact.
events() {
	attach_begin -p "$VICTIM" --json --exact --on-overflow=block --loader="$1" --top 1000
	attach_await "$VICTIM"
	tell place r
	answer place ran
	attach_end INT
	expect "$STATUS" 0 "$WHAT, $1: exit status"
	json_valid
	json_expect .session.detached pristine
	# the interpreter comes to a loop's first call by another way than to the rest
	json_expect '[.sites[] | select(.alloc_bytes > 0 and .alloc_bytes % 12345 == 0)] |
		"\(map(.alloc_count) | add) \(map(.live_count) | add)"' "1000 400"
	STOPS="$STOPS $(json '.session | [.attach_stop_us_max, .detach_stop_us_max] | max')"
	pristine_check "$VICTIM"
}

# place NAME COMMAND...: the program as it is started by that.
place() {
	WHAT=$1 STOPS=''
	shift
	place_starts "$@"
	pristine_take "$VICTIM"
	events auto
	events map
	attach -p "$VICTIM" --leaks -d 0 --json
	case $STATUS in 0 | 1) ;; *) fail "$WHAT, leaks: exit status $STATUS" ;; esac
	# 800, but for those that numbers seem to name: Debian's python3 is at a fixed address, its
	# heap in the first GiB
	LOST=$(json '.leaks | .definitely_lost.count')
	[ "$LOST" -ge 700 ] || fail "$WHAT: $LOST lost blocks, $(json '.leaks |
		del(.groups, .heaps)')"
	pristine_check "$VICTIM"
	tell place q
	await 60 is_gone "$VICTIM_SELF" || fail "$WHAT: it does not end"
	note "| $WHAT | $LIBC | exact by both loaders, leaks; pristine three times |" \
		"$(echo "$STOPS" | tr ' ' '\n' | sort -n | tail -n 1) |"
}

ISOLATED='unshare --mount --pid --fork --net --ipc --uts --cgroup'
for name in ${PLACES:-bullseye bookworm trixie musl}; do
	case $name in
	musl) musl || continue ;;
	*)
		needs mmdebstrap
		debian "$name" || continue
		;;
	esac
	# shellcheck disable=SC2016,SC2086
	{
		place "$name, no /proc" chroot "$ROOT" $PROGRAM
		place "$name, read-only" unshare --mount sh -c 'mount --bind "$0" "$0" &&
			mount -o remount,bind,ro "$0" && exec chroot "$0" "$@"' "$ROOT" $PROGRAM
		place "$name, own namespaces" $ISOLATED chroot "$ROOT" $PROGRAM
		place "$name, user namespace" $ISOLATED --user --map-root-user chroot "$ROOT" \
			$PROGRAM
	}
done
