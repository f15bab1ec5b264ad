# SPDX-License-Identifier: MIT
# What the tests of several processes share. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2016,SC2034,SC2153,SC2154

several_valid() { schema_valid several; }

# sums_hold: totals and sites are the sums of what the processes have, in every figure.
sums_hold() {
	json_expect '. as $r | [.sites[] | . as $s | ["live_bytes", "live_count", "alloc_bytes",
		"alloc_count", "free_count"][] | . as $key |
		select($s[$key] != ([$s.by_process[][$key]] | add))] | length' 0
	json_expect '[.processes[] | select(.watched)] as $p | .totals as $t |
		["live_bytes", "live_count", "alloc_bytes", "alloc_count", "free_count",
			"free_bytes"] |
		map(. as $key | select($t[$key] != ([$p[].totals[$key]] | add))) | length' 0
	# estimates are rounded, each of them
	json_expect '. as $r | [range(.processes | length) as $i | .processes[$i] |
		select(.watched) |
		.totals.live_bytes - ([$r.sites[] | select(.kind == "malloc") | .by_process[] |
			select(.process == $i) | .live_bytes] | add // 0) | fabs |
		select(. > (if $r.exact then 0 else ($r.sites | length) end))] | length' 0
}

# of_process PID EXPRESSION: of that process's entry; of its last session.
of_process() { json "[.processes[] | select(.pid == $1)] | last | $2"; }

# at_site PID FUNCTION KEY: what PID has at the sites in which FUNCTION allocates, all sessions.
at_site() {
	json "[.processes[].pid] as \$pid | [.sites[] |
		select([.frames[] | .function] | index(\"$2\")) |
		.by_process[] | select(\$pid[.process] == $1) | .$3] | add // 0"
}

# How memattach can learn of forks here: MODES, "list" where it can be kept from hearing the kernel
# (whose connector there is in the first network namespace only), "events" where it hears it.
modes_here() {
	MODES=""
	python3 - <<-'EOF' && MODES="events"
		import os, select, socket, struct, sys
		s = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11)
		s.bind((0, 1))
		number = os.getpid()	# which the answer to us has
		listen = struct.pack("=IIIIHHI", 1, 1, 0, number, 4, 0, 1)
		s.send(struct.pack("=IHHII", 16 + len(listen), 3, 0, 0, 0) + listen)
		while select.select([s], [], [], 1)[0]:
		    if struct.unpack("=I", s.recv(512)[28:32])[0] == number + 1:
		        sys.exit(0)
		sys.exit(1)
	EOF
	if [ -z "$MODES" ]; then
		MODES=list
	elif unshare -n true 2>/dev/null; then
		MODES="$MODES list"
		HEARING=$MEMATTACH
		printf '#!/bin/sh\nexec unshare -n "%s" "$@"\n' "$MEMATTACH" >"$WORK/deaf"
		chmod 755 "$WORK/deaf"
	fi
}

# as_mode MODE: memattach from now on.
as_mode() {
	case $1,${HEARING:-} in
	list,?*) MEMATTACH=$WORK/deaf ;;
	*) MEMATTACH=${HEARING:-$MEMATTACH} ;;
	esac
}

# --- of the victim "family" ---

said() { grep -q "^$1\$" "$WORK/family.out"; }

# child KIND: has the victim start one. Sets CHILD, its id.
child() {
	before=$(grep -c '^child ok' "$WORK/family.out")
	tell family "$1"
	await 20 more_children || fail "no child: $(cat "$WORK/family.err")"
	CHILD=$(sed -n 's/^child ok //p' "$WORK/family.out" | tail -n 1)
	own "$CHILD"
}

more_children() { [ "$(grep -c '^child ok' "$WORK/family.out")" -gt "$before" ]; }

# works PID: it does its work, while it is watched.
works() {
	kill -USR1 "$1"
	await 20 said "worked $1" || fail "$1 does not work"
}

# A process that was forked has its own code pages for those that were once patched in its parent
# (the bytes are the file's), so that it is compared with the parent as it was before.
forked_pristine() {
	"$TOOLS/ringwatch" "$1" gone 0 >"$WORK/ringwatch" || fail "$1 keeps a mapping of ours"
	"$TOOLS/pristine" compare "$1" "$WORK/pristine.$VICTIM" >"$WORK/pristine.out" 2>&1 ||
		fail "child $1 is not pristine: $(cat "$WORK/pristine.out")"
}

books_are_right() {
	expect "$(at_site "$1" keep live_bytes)" 100000 "live bytes of $2"
	expect "$(at_site "$1" keep alloc_count)" 100 "blocks that $2 kept"
	expect "$(at_site "$1" toss alloc_count)" 50 "blocks that $2 tossed"
	expect "$(at_site "$1" toss free_count)" 50 "blocks that $2 freed"
	expect "$(at_site "$1" toss live_count)" 0 "blocks of toss in $2"
}

gone() {
	kill -TERM "$1"
	await 20 said "gone ok $1" || fail "$1: $(cat "$WORK/family.out")"
}
