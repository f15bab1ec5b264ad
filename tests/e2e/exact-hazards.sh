#!/bin/sh
# SPDX-License-Identifier: MIT
# What a walk of the stack can be misled by (tests/victims/hazards.h), with every recognised stack
# compared with what libunwind finds in its copy, and what was allocated under each function with
# what the program itself knows. The program is built as usual, without a search table, with
# .debug_frame only, static, static-pie, and with split stacks.
. "$(dirname "$0")/lib.sh"
needs jq python3

victims=$SRCDIR/tests/victims
flags="-g -O2 -I$SRCDIR -D_GNU_SOURCE -pthread -fno-lto"

# built NAME OPTIONS...: of the C sources. False if this compiler or linker can't.
built() {
	built_name=$1
	shift
	(cd "$victims" && $CC $flags -o "$WORK/$built_name" hazards.c hazards_code.c \
		hazards_frames.c hazards_stacks.c hazards_threads.c "$@" "$WORK/victim.o" \
		-ldl) >"$WORK/$built_name.cc" 2>&1
}

# watched NAME LEAST [ARGUMENTS]: what the program under that name does; so many stacks at the
# least are recognised and compared, none is different, and every count is right.
watched() {
	watched_name=$1 watched_least=$2
	shift 2
	VICTIMS=$WORK victim "$watched_name" "$watched_name" "$@"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --exact --on-overflow=block --verify-stacks=1 --json
	attach_await "$VICTIM"
	tell "$watched_name" g
	await 120 grep -q '^done ok' "$WORK/$watched_name.out" ||
		fail "$watched_name: not done: $(cat "$WORK/$watched_name.err")"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	json_expect .session.stacks.mismatched 0
	json_expect ".session.stacks.audited >= $watched_least" true
	json_expect '.session.stacks | .audited > .recognised / 2' true
	python3 "$E2E/check_hazards.py" "$WORK/$watched_name.out" "$REPORT" ||
		fail "$watched_name: counts"
	watched_maps=$(sed -n 's/^maps //p' "$WORK/$watched_name.out")
	json_expect ".session.events.map >= $watched_maps" true
	note "$watched_name: $(jq -r '.session.stacks | "\(.recognised) recognised, \(.audited
		) compared, \(.unwound) copied"' "$REPORT")"
	ended "$watched_name"
}

# Of the usual program's parts.
$CC $flags -c -o "$WORK/victim.o" "$victims/victim.c" || fail "$CC"
$CXX $flags -c -o "$WORK/cxx.o" "$victims/hazards_cxx.cc" || fail "$CXX"
for number in 0 1 2 3 4 5 6 7; do
	$CC $flags -fPIC -shared -Wl,-z,lazy -o "$WORK/plug$number.so" \
		"$victims/hazards_plug.c" || fail "$CC -shared"
done

built usual "$WORK/cxx.o" -lstdc++ -Wl,-z,lazy || fail "$(cat "$WORK/usual.cc")"
watched usual 5000 --plugs="$WORK"
json_valid
grep -q '^naive [1-9].* [1-9][0-9]* misled' "$WORK/usual.out" ||
	fail "return addresses alone misled nobody: $(grep ^naive "$WORK/usual.out")"

without="-DHAZARDS_NO_CXX -DHAZARDS_NO_PLUGS"
# variant NAME LEAST OPTIONS...: what can't be built here is left out, and that is said.
variant() {
	variant_name=$1 variant_least=$2
	shift 2
	dealt 2 || return 0
	if built "$variant_name" $without "$@"; then
		watched "$variant_name" "$variant_least"
	else
		note "$variant_name: can't be built: $(tail -n 1 "$WORK/$variant_name.cc")"
	fi
}
variant nohdr 3000 -Wl,--no-eh-frame-hdr
variant debugframe 3000 -fno-asynchronous-unwind-tables -fno-unwind-tables
variant static 3000 -static
variant static-pie 3000 -static-pie -fPIE
variant split 500 -fsplit-stack
