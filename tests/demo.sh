#!/bin/sh
# SPDX-License-Identifier: MIT
# `make demo`: a server of ours with a leak, memattach on it, its reports. With PID=1234 in the
# environment: memattach on that process instead, which is not touched otherwise.
set -u
: "${SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${BUILDDIR:=$SRCDIR}"
: "${MEMATTACH:=$BUILDDIR/cli/memattach}"
: "${CC:=cc}"
: "${PID:=}"
: "${DURATION:=5}"
work=$(mktemp -d "${TMPDIR:-/tmp}/memattach-demo.XXXXXX") || exit 1
server=""

tidy_up() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$work"
}
trap tidy_up EXIT
trap 'exit 1' HUP INT PIPE TERM

# The demo server writes its pid once it serves; a fifo makes us wait for that line.
start_server() {
	# shellcheck disable=SC2086
	$CC -D_GNU_SOURCE -g -O2 -pthread -o "$work/demo_server" "$SRCDIR/tests/demo_server.c" ||
		exit 1
	mkfifo "$work/ready"
	"$work/demo_server" 120 >"$work/ready" &
	server=$!
	read -r PID <"$work/ready" || { echo "the demo server does not start"; exit 1; }
	echo "A small server is running: process $PID, with caches, sessions, and one leak."
}

# show COMMENT ARGUMENTS: a command as a user would type it, then its output.
show() {
	printf '\n%s\n$ memattach %s\n\n' "$1" "$(shift; echo "$*")"
	shift
	"$MEMATTACH" "$@"
	status=$?
	# 1 would be definite leaks: found is what the demo is about.
	[ "$status" -le 1 ] || { echo "memattach ended with status $status"; exit "$status"; }
}

[ -n "$PID" ] || start_server
show "What it would do, and whether it may:" check -p "$PID"
show "Who holds the memory, who asks for it, what is not given back:" \
	-p "$PID" -d "$DURATION" --sample=512 --interval=2 --plain --leaks --top=5
if kill -0 "$PID" 2>/dev/null; then
	printf '\nProcess %s runs on as if nothing had happened.\n' "$PID"
else
	echo "process $PID is gone"
	exit 1
fi
