#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen, 80 by 24 and 200 by 60: it says what is true of the target, and each key of its help
# does what the help says. A key of the help that no line here has tried fails the test.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

# That these keys were pressed, and their effect was seen.
tested() { printf '%s\n' "$@" >>"$WORK/tested"; }

kib() { awk -v b="$1" 'BEGIN { k = b / 1024
	printf((k < 9.995 ? "%.2f KiB" : (k < 99.95 ? "%.1f KiB" : "%.0f KiB")), k) }'; }
totals() { jq ".totals.$1" "$WORK/truth.truth"; }
# The end of a site's row, with the place that wide terminals have.
PLACE='(  [^ ]+)?$'

# begin COLUMNS LINES
begin() {
	victim truth truth_c
	pristine_take "$VICTIM"
	screen_begin "$1" "$2" -p "$VICTIM" $EXACT --interval=0.2
	attach_await "$VICTIM"
	shown 'rate .*allocs in all'
	shown ' 0 B in 0 blocks'
}

# end: the report stands where the screen was, the target is as it was.
end() {
	screen_end
	expect "$STATUS" 0 "exit status"
	grep -q 'memattach .* watched process' "$WORK/after" || fail "no report after the screen"
	pristine_check "$VICTIM"
	tmux_do kill-server
	ended truth
}

# m, work, d: all of it is new
differences() {
	keys m
	shown 'marked at'
	truth truth
	live=$(kib "$(totals live_bytes)")
	shown "^ live +$live in $(totals live_count) blocks" "live bytes"
	shown "$(totals alloc_count) allocs in all" "allocations"
	shown 'lost +nothing'
	shown 'every event'
	keys d
	shown 'SINCE MARK'
	shown "live +\+$live in .* since the mark"
	keys d
	not_shown 'SINCE MARK'
	tested m d
}

# What the table says is the truth, sorted by live bytes. Sets first, first_figure.
first_site() {
	jq -r '[.sites[] | select(.live_bytes > 0)] | sort_by(-.live_bytes) | .[0] |
		.stack[0].function, .live_bytes, .alloc_bytes' "$WORK/truth.truth" >"$WORK/first"
	{ read -r first && read -r first_live && read -r first_alloc; } <"$WORK/first"
	first_figure=$(kib "$first_live")
	row_shown 1 "$first"
	shown "^> +$first_figure .* $(kib "$first_alloc") .* $first$PLACE" "the largest site"
	shown 'live[v] +growth'
}

other_selected() { ! is_selected "$first_figure"; }

moving() {
	select_shown "$first_figure"
	second=$(row_name 2)
	for pair in 'Down Up' 'j k'; do
		# shellcheck disable=SC2086 # words
		set -- $pair
		keys "$1"
		select_shown "$second"
		await 10 other_selected || fail "$1 does not move"
		keys "$2"
		select_shown "$first_figure"
		tested "$@"
	done
	keys End
	await 10 other_selected || fail "End does not move"
	keys Home
	select_shown "$first_figure"
	tested Home End
	keys NPage
	await 10 other_selected || fail "PgDn does not move"
	keys PPage
	select_shown "$first_figure"
	tested PgUp PgDn
	keys k PPage	# there is nothing above
	select_shown "$first_figure"
	keys End j NPage	# nor below
	await 10 other_selected || fail "the end is not the end"
	keys Home
	select_shown "$first_figure"
}

stack_first() { capture; sed -n '/stack of/{n;p;}' "$SHOWN"; }
stack_is() { case $(stack_first) in *"$1"*) ;; *) return 1 ;; esac; }

# The stack is the selected site's, scrolls, and can be hidden.
stack() {
	shown 'stack of the selected site'
	jq -r --arg f "$first" --argjson l "$first_live" 'first(.sites[] |
		select(.live_bytes == $l and .stack[0].function == $f)) | .stack[] |
		"\(.function) +truth_c.c:\(.line)"' "$WORK/truth.truth" >"$WORK/stack"
	while read -r frame; do
		shown "^ +$frame"
	done <"$WORK/stack"
	second_frame=$(sed -n 's/ .*//;2p' "$WORK/stack")
	keys ]
	await 10 stack_is "$second_frame" || fail "] does not scroll: $(stack_first)"
	keys [
	await 10 stack_is "$first" || fail "[ does not scroll back: $(stack_first)"
	tested "[" "]"
	keys Enter
	not_shown 'stack of the selected'
	keys Enter
	shown 'stack of the selected'
	tested Enter
}

order() {
	keys '>'
	shown 'growth[v]'
	keys '>'
	shown "alloc'd[v]"
	most=$(jq -r '.sites | sort_by(-.alloc_bytes) | .[0].stack[0].function' \
		"$WORK/truth.truth")
	keys Home
	row_shown 1 "$most"
	keys r
	shown "alloc'd\^"
	keys Home
	row_differs 1 "$most"
	keys End
	select_shown "$most"
	tested r
	keys '<' '<'
	shown 'live[v]'
	tested "<" ">"
}

# Of rows, those without PATTERN.
rows_without() { capture; sed -n '8,/stack of/p' "$SHOWN" | sed '$d' | grep -v "$1" | grep '[^ ]'; }

# While typing.
filter() {
	keys Home /
	keys -l realloc_moves
	shown '^/realloc_moves'
	shown "of [0-9]+ sites with realloc_moves"
	select_shown realloc_moves
	! rows_without realloc_moves || fail "the filter lets others pass: $(cat "$SHOWN")"
	keys BSpace BSpace BSpace
	shown '^/realloc_mo '
	keys Enter
	not_shown '^/'
	shown 'sites with realloc_mo'
	tested "/"
	keys Escape
	not_shown 'sites with'
	row_shown 1 "$first"
	keys / x y Escape
	not_shown '^/'
	row_shown 1 "$first"
	keys Home
	select_shown "$first_figure"
	tested Esc
}

# A pause: the clock stands still, and goes on.
clock() { capture; sed -n '1s/.*exact *\([^ ].*[^ ]\) *$/\1/p' "$SHOWN"; }
moved() { [ "$(clock)" != "$stands" ]; }
pause() {
	for key in p Space; do
		keys "$key"
		shown PAUSED
		stands=$(clock)
		sleep 0.6	# three intervals
		! moved || fail "the clock goes on in a pause"
		keys "$key"
		not_shown PAUSED
		await 10 moved || fail "the clock does not go on after a pause"
		tested "$key"
	done
}

threads() {
	keys t
	shown "thread +tid +allocs"
	shown "^>1 +$VICTIM +$(totals alloc_count) " "the only thread"
	keys t
	shown 'live[v]'
	tested t
}

# Snapshots: valid, and of this moment.
snapshots() {
	keys s
	shown "saved [0-9]+ sites, .* to memattach-$VICTIM-1.json"
	cp "$WORK/memattach-$VICTIM-1.json" "$REPORT"
	json_valid
	json_expect .session.detached null
	json_expect .totals.live_bytes "$(totals live_bytes)"
	json_expect '[.sites[] | select(.frames[0].function == null)] | length' 0
	keys s
	shown "saved .* to memattach-$VICTIM-2.json"
	"$MEMATTACH" diff "$WORK/memattach-$VICTIM-1.json" "$WORK/memattach-$VICTIM-2.json" \
		>"$WORK/diff" 2>&1 || fail "diff of the two: $(cat "$WORK/diff")"
	tested s
}

# Leaks are searched for, anew, and left in two ways; what is found, screen-leaks.sh looks at.
searched_at() { capture; sed -n 's/^ leaks  *at \([0-9.]* [a-z]*\):.*/\1/p' "$SHOWN"; }
searched_anew() { case $(searched_at) in '' | "$at") return 1 ;; esac; }
leaks() {
	keys L
	shown 'still reachable'
	at=$(searched_at)
	[ -n "$at" ] || fail "when? $(cat "$SHOWN")"
	keys L
	await 30 searched_anew || fail "L does not search anew: $(cat "$SHOWN")"
	keys q
	shown 'live[v] +growth'
	keys L
	shown 'still reachable'
	await 30 shows_not 'searching' || fail "it does not end"
	keys Escape
	shown 'live[v] +growth'
	tested L
}

# What something else wrote over the screen goes away.
redraw() {
	printf '\033[9;30HGARBAGE' >"$(tmux_do display-message -p '#{pane_tty}')"
	shown GARBAGE
	keys C-l
	not_shown GARBAGE
	tested Ctrl-L
}

# The terminal is left, and taken again; the session goes on meanwhile.
is_stopped() { grep -q '^State:.T' "/proc/$ATTACH/status"; }
suspend() {
	screen_children || fail "screen, keeper and analyst are not there"
	keys C-z
	await 20 is_stopped || fail "Ctrl-Z does not stop it"
	expect "$(tmux_do display-message -p '#{alternate_on}')" 0 "alternate screen when stopped"
	grep -q '^State:.T' "/proc/$SCREEN/status" || fail "the screen is not stopped"
	! grep -q '^State:.T' "/proc/$ANALYST/status" || fail "the analyst is stopped"
	kill -CONT "$ATTACH" "$SCREEN"	# as fg does: screen-stop.sh
	shown 'live[v] +growth'
	expect "$(tmux_do display-message -p '#{alternate_on}')" 1 "alternate screen"
	stands=$(clock)
	await 10 moved || fail "the clock does not go on after a stop"
	tested Ctrl-Z
}

# The help, complete, left by any key: by q, too, which does not end memattach then.
help() {
	for key in '?' h; do
		keys "$key"
		shown '^ Keys'
		sed -n 's/^   \([^ ].\{12\}\).*/\1/p' "$SHOWN" | sed 's/ *$//; s/, /\n/g' |
			sort >"$WORK/help"
		keys q
		not_shown '^ Keys'
		shown 'live[v]'
		tested "$key"
	done
}

for size in '80 24' '200 60'; do
	note "$size"
	: >"$WORK/tested"
	# shellcheck disable=SC2086 # words
	begin $size
	differences
	first_site
	moving
	stack
	order
	filter
	pause
	threads
	snapshots
	leaks
	redraw
	suspend
	help
	keys q
	end
	tested q
	# shellcheck disable=SC2086 # words
	begin $size
	keys C-c
	end
	tested Ctrl-C
	sort "$WORK/tested" | cmp -s - "$WORK/help" ||
		fail "keys of the help and keys tried: $(sort "$WORK/tested" | diff - "$WORK/help")"
done
