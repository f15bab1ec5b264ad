#!/bin/sh
# SPDX-License-Identifier: MIT
# A program whose file was deleted, or replaced as an upgrade does it, its libc's with it: names and
# lines are those of the code that runs, by both loaders.
. "$(dirname "$0")/lib.sh"
needs jq python3
libc=$(ldd "$VICTIMS/truth_c" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
[ -n "$libc" ] || skip "truth_c has no libc.so.6"
own=$WORK/own
mkdir "$own"
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec "%s/truth_c"\n' "$own" "$own" >"$own/start"
chmod +x "$own/start"

# A new file under the name: another program of which the old one's addresses mean something else.
replaced() {
	cp "$1" "$own/new"
	mv "$own/new" "$own/$2"
}

# after CHANGE LOADER: of what was started before.
after() {
	note "$1, $2"
	rm -f "$own/truth_c" "$own/libc.so.6"
	cp "$VICTIMS/truth_c" "$own/truth_c"
	cp "$libc" "$own/libc.so.6"
	usual=$VICTIMS
	VICTIMS=$own
	victim truth start
	VICTIMS=$usual
	grep -q "$own/libc.so.6" "/proc/$VICTIM/maps" || fail "it has not its own libc"
	case $1 in
	deleted) rm "$own/truth_c" "$own/libc.so.6" ;;
	upgraded)
		replaced "$VICTIMS/truth_cxx" truth_c
		replaced "$VICTIMS/truth_threads" libc.so.6
		;;
	damaged)
		replaced /dev/null truth_c
		replaced "$E2E/lib.sh" libc.so.6
		;;
	gone) mv "$own" "$own.old" ;;
	esac
	exact_session truth truth_c --loader="$2"
	json_expect '.target.allocators[0].name' glibc
	ended truth
	[ "$1" != gone ] || mv "$own.old" "$own"
}

for change in deleted upgraded damaged gone; do
	after $change dlopen
	after $change map
done
