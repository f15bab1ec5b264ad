# SPDX-License-Identifier: MIT
# What the tests of the live screen share: memattach on a terminal of tmux's, keys into it, what it
# shows out of it. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034
needs tmux jq
TMUX_SOCKET=$WORK/tmux0
SHOWN=$WORK/shown

tmux_do() { tmux -S "$TMUX_SOCKET" -f /dev/null "$@"; }

screen_tidy_up() {
	tmux_do kill-server 2>/dev/null
	tidy_up
}
trap screen_tidy_up EXIT

# The first of the locales $@ that this machine has; LOCALE is "" if none.
find_locale() {
	LOCALE=""
	for wanted in "$@"; do
		for have in $(locale -a 2>/dev/null); do
			[ "$wanted" != "$have" ] || { LOCALE=$have; return; }
		done
	done
}

# screen_begin COLUMNS LINES ARGUMENTS: memattach as the command of a shell on a terminal of that
# size, in SCREEN_FOLDER ($WORK), in the locale SCREEN_LOCALE (C), for the terminal SCREEN_TERM
# (tmux's own). The status goes to $WORK/status.
screen_begin() {
	rm -f "$WORK/status" "$WORK/modes."*
	TMUX_SOCKET=${TMUX_SOCKET}0	# the last one may still be about to end
	screen_columns=$1 screen_lines=$2
	shift 2
	cat >"$WORK/shell.sh" <<-END
		trap : INT
		cd "$WORK"
		stty -a >modes.before
		echo a line from before
		export TERM="${SCREEN_TERM:-screen}"
		cd "${SCREEN_FOLDER:-$WORK}"
		"$MEMATTACH" $* ${SCREEN_STDERR:-}
		echo \$? >"$WORK/status.new"
		cd "$WORK"
		stty -a >modes.after
		mv status.new status
		exec cat
	END
	env LC_ALL="${SCREEN_LOCALE:-C}" TERM=xterm tmux -S "$TMUX_SOCKET" -f /dev/null \
		${SCREEN_TMUX:-} new-session -d -x "$screen_columns" -y "$screen_lines" \
		"sh $WORK/shell.sh" || fail "tmux does not start"
	await 20 screen_process || fail "no memattach on the terminal: $(capture; cat "$SHOWN")"
}

# Sets ATTACH to the process that was started on the terminal: the front.
screen_process() {
	screen_shell=$(tmux_do display-message -p '#{pane_pid}') || return 1
	for ATTACH in $(cat "/proc/$screen_shell/task/$screen_shell/children" 2>/dev/null); do
		[ "$(cat "/proc/$ATTACH/comm")" != memattach ] || return 0
	done
	return 1
}

# The front's children, told apart: the keeper has left the front's process group.
screen_children() {
	KEEPER="" SCREEN=""
	for child in $(cat "/proc/$ATTACH/task/$ATTACH/children"); do
		read -r _ _ _ _ group _ <"/proc/$child/stat" || continue
		if [ "$group" = "$child" ]; then KEEPER=$child; else SCREEN=$child; fi
	done
	ANALYST="" opener=""
	for child in $(cat "/proc/$KEEPER/task/$KEEPER/children"); do
		if grep -q '^Name:.memattach-files' "/proc/$child/status"; then opener=$child
		else ANALYST=$child; fi
	done
	[ -n "$SCREEN" ] && [ -n "$ANALYST" ] && [ -n "$opener" ]
}

capture() { tmux_do capture-pane -p >"$SHOWN"; }
shows() { capture && grep -qE -e "$1" "$SHOWN"; }
shows_not() { capture && ! grep -qE -e "$1" "$SHOWN"; }

# shown PATTERN [WHAT]: waits until it is there, SHOWN_SECONDS (30) at the most.
shown() {
	await "${SHOWN_SECONDS:-30}" shows "$1" || fail "${2:-not on the screen}: '$1' in
$(cat "$SHOWN")"
}

not_shown() {
	await 30 shows_not "$1" || fail "${2:-still on the screen}: '$1' in
$(cat "$SHOWN")"
}

keys() { tmux_do send-keys "$@"; }

# The line of the selected site.
selected() { capture && sed -n '8,/stack of/s/^>//p' "$SHOWN"; }
is_selected() { case $(selected) in *"$1"*) return 0 ;; esac; return 1; }
select_shown() { await 30 is_selected "$1" || fail "selected: '$(selected)', not $1"; }

# The n-th row of the table, from 1: its name. From 120 columns on two more figures are before it.
row_name() {
	[ "$screen_columns" -lt 120 ] && row_from=50 || row_from=70
	capture
	sed -n "$((7 + $1))p" "$SHOWN" | cut -c$row_from- | sed 's/  .*//'
}
row_is() { [ "$(row_name "$1")" = "$2" ]; }
row_is_not() { [ "$(row_name "$1")" != "$2" ]; }
row_shown() { await 30 row_is "$1" "$2" || fail "row $1: $(row_name "$1"), not $2"; }
row_differs() { await 30 row_is_not "$1" "$2" || fail "row $1 still $2"; }

is_ended() { [ -s "$WORK/status" ]; }

# Waits for the end; the terminal's modes are as before. Sets STATUS.
screen_end() {
	await 30 is_ended || fail "memattach does not end: $(capture; cat "$SHOWN")"
	STATUS=$(cat "$WORK/status")
	cmp -s "$WORK/modes.before" "$WORK/modes.after" ||
		fail "the terminal's modes: $(diff "$WORK/modes.before" "$WORK/modes.after")"
	expect "$(tmux_do display-message -p '#{alternate_on}')" 0 "alternate screen at the end"
	expect "$(tmux_do display-message -p '#{cursor_flag}')" 1 "cursor visible at the end"
	tmux_do capture-pane -p -S - >"$WORK/after"
	grep -q 'a line from before' "$WORK/after" || fail "the screen of before is gone"
}
