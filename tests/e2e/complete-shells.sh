#!/bin/sh
# SPDX-License-Identifier: MIT
# Completions are those of this program, and bash, zsh and fish give them: commands, options of a
# command, values, views, process ids with names, recordings.
. "$(dirname "$0")/lib.sh"
needs python3
COMPLETIONS=$SRCDIR/packaging/completions
FOLDER=$WORK/folder

# --- they are current --------------------------------------------------------
mkdir "$WORK/made" "$FOLDER"
python3 "$COMPLETIONS/generate.py" "$MEMATTACH" "$WORK/made" || fail "they can't be made"
for file in memattach _memattach memattach.fish; do
	cmp "$WORK/made/$file" "$COMPLETIONS/$file" ||
		fail "packaging/completions/$file is not current: make completions"
done

# --- what there is to complete -----------------------------------------------
printf 'SQLite format 3\0' >"$FOLDER/server.memattach"
echo text >"$FOLDER/server.txt"
background sleeper sleep 1000
SLEEPER=$LAST

in_bash() { bash --norc "$E2E/complete.bash" "$COMPLETIONS/memattach" "$1" "$FOLDER"; }
in_zsh() { zsh -f "$E2E/complete.zsh" "$COMPLETIONS" "$1" "$FOLDER"; }
in_fish() {
	(cd "$FOLDER" && HOME=$WORK XDG_CONFIG_HOME=$WORK XDG_DATA_HOME=$WORK fish --no-config -c \
		'source $argv[1]; complete -C $argv[2]' "$COMPLETIONS/memattach.fish" "$1")
}

# offers LINE WORD...: if it is dealt, each word is offered; !WORD: it is not. A value may come with
# its option.
offers() {
	dealt 3 || return 0
	offers_line=$1
	shift
	"in_$SHELL_NAME" "$offers_line" >"$WORK/offered" 2>"$ERRORS" </dev/null
	for word in "$@"; do
		if [ "${word#!}" = "$word" ]; then
			grep -qE -- "^(--[a-z-]+=)?$word([ 	=]|\$)" "$WORK/offered" ||
				fail "$SHELL_NAME: '$offers_line': no $word in" \
				     "$(head -c 600 "$WORK/offered")"
		else
			! grep -qE -- "^(--[a-z-]+=)?${word#!}([ 	=]|\$)" "$WORK/offered" ||
				fail "$SHELL_NAME: '$offers_line': ${word#!} is offered"
		fi
	done
}

check_shell() {
	SHELL_NAME=$1
	offers 'memattach ' attach run trace leaks check cleanup report diff export symbolize \
		status
	offers 'memattach re' report !run
	offers 'memattach -' -p
	offers 'memattach -p 1 --' --exact --leaks --view !--to !--search
	offers 'memattach report --' --json --by --view !--exact !--to
	offers 'memattach export --' --to --by !--view
	offers 'memattach diff --' --top !--to
	offers 'memattach -p 1 --view=' tree flame leaks overview
	offers 'memattach -p 1 --view=t' tree temporary timeline !flame
	offers 'memattach report --by=' live live-count peak temporary
	offers 'memattach export x --to=' pprof heaptrack svg-timeline html
	offers 'memattach export x --to ' pprof heaptrack
	offers 'memattach -p 1 --loader=' auto dlopen map
	offers 'memattach -p 1 --snapshot-on=' peak SIGUSR1
	offers 'memattach -p 1 --roots=globals,' '(globals,)?stacks'
	offers "memattach -p $SLEEPER" "$SLEEPER"
	offers 'memattach check -p ' "$SLEEPER.*"
	offers 'memattach report s' server.memattach !server.txt
	offers 'memattach export ' server.memattach !server.txt
	offers 'memattach report server.memattach ' tree flame leaks
	offers 'memattach run -- tru' true
	offers 'memattach help ' report symbolize
	note "$SHELL_NAME completes"
}

done_in=0
for shell in bash zsh fish; do
	if ! command -v "$shell" >/dev/null 2>&1; then
		note "$shell is not installed"
	elif [ "$shell" = bash ] && [ ! -r /usr/share/bash-completion/bash_completion ]; then
		note "bash-completion is not installed"
	else
		check_shell "$shell"
		done_in=$((done_in + 1))
	fi
done
[ "$done_in" -gt 0 ] || skip "neither bash-completion nor zsh nor fish is installed"
