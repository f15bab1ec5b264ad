#!/bin/sh
# SPDX-License-Identifier: MIT
# By hand: screen_pictures.sh FOLDER keeps what the live screen shows of the demo server, each view
# at 80 by 24 and at 200 by 60, as FOLDER/screen-VIEW-COLUMNSxLINES.txt. Those of docs/SCREEN.md and
# docs/pictures are made so.
FOLDER=${1:?"usage: screen_pictures.sh FOLDER"}
TEST_LIMIT=300
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
find_locale C.utf8 C.UTF-8 en_US.utf8 en_US.UTF-8
SCREEN_LOCALE=$LOCALE
SCREEN_TMUX=-u
cd "$WORK" || exit 99	# short names in the pictures

# begin OPTIONS: a new server, watched for half a minute.
begin() {
	mkfifo ready
	./demo_server 900 >ready &
	own "$!"
	read -r VICTIM <ready
	rm ready
	screen_begin 80 24 -p "$VICTIM" "$@"
	attach_await "$VICTIM"
	seconds_shown 30
}
is_later() {
	capture && awk -v t="$1" 'NR == 1 && $NF == "s" && $(NF - 1) >= t { later = 1 }
		END { exit !later }' "$SHOWN"
}
seconds_shown() { await 100 is_later "$1" || fail "no $1 seconds: $(cat "$SHOWN")"; }

# keep VIEW PATTERN: what is shown once PATTERN is there, at both sizes.
keep() {
	for size in 200x60 80x24; do
		tmux_do resize-window -x "${size%x*}" -y "${size#*x}"
		sleep 1.2	# an interval, for its names
		shown "$2"
		sed 's/ *$//' "$SHOWN" >"$FOLDER/screen-$1-$size.txt"
	done
}
end() {
	keys q
	screen_end
	tmux_do kill-server
	kill "$VICTIM"
}

$CC -D_GNU_SOURCE -g -O2 -pthread -o demo_server "$SRCDIR/tests/demo_server.c" || exit 99
begin --sample=4096
keys Home
keep list 'stack of the selected'
keys Home Down Down Down
sleep 1.2	# an interval, for its stack
keys ] ]
keep stack 'stack of the selected'
keys Home m
seconds_shown 38
keys d
keep mark 'SINCE MARK'
keys d t
keep threads 'thread +tid'
keys t /
keys -l session
keep filter '^/session'
keys Escape '?'
keep help 'any key: back'
keys q
end
begin --exact
keys L
shown 'still reachable'
keep leaks 'group 1 of'
keys q
end
