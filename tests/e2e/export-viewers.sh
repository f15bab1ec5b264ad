#!/bin/sh
# SPDX-License-Identifier: MIT
# heaptrack_gui and massif-visualizer open their exports on a screen of their own (Xvfb) without a
# complaint, and what they show is what we say. KEEP_PICTURES=FOLDER: what they looked like.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/exports.sh"
needs Xvfb xdotool import
has heaptrack_gui || has massif-visualizer || skip "not installed:$left_out"
pictures=${KEEP_PICTURES:-$WORK}

# A screen that nobody sees, and nothing of the user's own settings.
background screen Xvfb -displayfd 1 -screen 0 2600x1900x24 -noreset \
	-nolisten tcp
await 20 grep -q '^[0-9]' "$WORK/screen.out" || fail "Xvfb: $(cat "$WORK/screen.err")"
mkdir -m 700 "$WORK/home"
DISPLAY=:$(head -n 1 "$WORK/screen.out")
HOME=$WORK/home XDG_RUNTIME_DIR=$HOME XDG_CONFIG_HOME=$HOME XDG_DATA_HOME=$HOME
QT_QPA_PLATFORM=xcb QT_SCALE_FACTOR=2 DBUS_SESSION_BUS_ADDRESS=unix:path=/dev/null
unset WAYLAND_DISPLAY XAUTHORITY SESSION_MANAGER
export DISPLAY HOME XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME QT_QPA_PLATFORM QT_SCALE_FACTOR
export DBUS_SESSION_BUS_ADDRESS

# shows TITLE PROGRAM FILE: opens it, waits until its window has a name like TITLE.
shows() {
	shows_title=$1
	shift
	background viewer "$@"
	await 30 titled "$shows_title" ||
		fail "$1 shows no '$shows_title': $(cat "$WORK/viewer.err")"
}
titled() { xdotool search --onlyvisible --name "$1" >"$WORK/window" && test -s "$WORK/window"; }

# The words on the screen: a picture of it, large enough to be read by a program.
read_screen() {
	import -window root "$pictures/$1.png" || return
	OMP_THREAD_LIMIT=1 tesseract "$pictures/$1.png" - --psm 11 >"$WORK/$1.text" 2>"$WORK/read"
}

# It is still there, and has no second window, in which it would complain.
is_content() {
	! is_gone "$LAST" || fail "$1 has ended: $(cat "$WORK/viewer.err")"
	expect "$(wc -l <"$WORK/window")" 1 "windows of $1"
	! grep -iE 'could not|failed|cannot|error|invalid' "$WORK/viewer.err" ||
		fail "$1 complains"
	kill "$LAST"
	await 10 is_gone "$LAST" || kill -KILL "$LAST"
}

target_recorded 2

if has massif-visualizer; then
	exported massif massif.out.demo
	shows 'massif.out.demo' massif-visualizer "$WORK/massif.out.demo"
	await 20 grep -q '^peak cost' "$WORK/viewer.err" || fail "massif-visualizer loads nothing"
	cp "$WORK/viewer.err" "$WORK/massif.said"
	same massif_visualizer massif.said
	import -window root "$pictures/massif-visualizer.png"
	is_content massif-visualizer
	note "massif-visualizer: $(grep '^peak cost' "$WORK/massif.said")"
fi

gui_has_loaded() { read_screen heaptrack-gui && grep -q debuggee "$WORK/heaptrack-gui.text"; }
if has heaptrack_gui; then
	exported heaptrack heap
	shows 'heap' heaptrack_gui "$WORK/heap"
	if has tesseract; then
		await 30 gui_has_loaded || fail "heaptrack_gui: $(cat "$WORK/heaptrack-gui.text")"
		same heaptrack_gui heaptrack-gui.text
		note "heaptrack_gui: $(grep '/s)' "$WORK/heaptrack-gui.text" | tr '\n' ' ')"
	fi
	is_content heaptrack_gui
fi
say_left_out
