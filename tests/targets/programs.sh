#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs as targets: each is started as its users would start it, in a folder of its own,
# and put under load. Then it is watched in four ways (sampled, by both loaders; every event; a
# leak report), left, and compared with what it was; no request fails. Prints a row for each.
# What is not installed is named. PROGRAMS: only those.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq python3
. "$E2E/servers.sh"
. "$SRCDIR/tests/targets/programs_lib.sh"
: "${SECONDS_WATCHED:=2}"
ATTACH_LIMIT=$((SECONDS_WATCHED + 120))

# way OPTIONS: one watch. Sets STOP, its longest stop in microseconds.
way() {
	attach -p "$VICTIM" -d "$SECONDS_WATCHED" --json "$@"
	case " $* $STATUS" in
	*' --leaks '*1 | *0) ;;
	*) fail "$PROGRAM, $*: exit status $STATUS" ;;
	esac
	json_valid
	json_expect .session.detached pristine
	STOP=$(json '.session | [.attach_stop_us_max, .detach_stop_us_max] | max')
	STOPS="$STOPS $STOP"
	EVENTS=$((EVENTS + $(json '.session.events | .alloc + .free + .map + .unmap')))
	pristine_check "$VICTIM"
}

# program NAME PACKAGE COMMAND: with NAME_start and, if there is a load, NAME_load and NAME_end.
program() {
	PROGRAM=$1 STOPS='' EVENTS=0 VERSION=''
	case " ${PROGRAMS:-$1} " in *" $1 "*) ;; *) return ;; esac
	command -v "$3" >/dev/null 2>&1 || {
		note "| $1 | package $2 is not installed | | |"
		return
	}
	"$1_start"
	VERSION=$(dpkg-query -W -f='${Version}' "$2" 2>/dev/null)
	kill -0 "$VICTIM" || fail "$1 is gone"
	pristine_take "$VICTIM"
	way --sample=4096
	way --sample=4096 --loader=map
	way --exact
	way --leaks --sample=64K
	ALLOCATORS=$(json '[.target.allocators[] | .name] | unique | join(", ")')
	# under load these two take all they need from pools that they have already
	case $1 in haproxy | php) ;; *) [ "$EVENTS" -gt 0 ] || fail "$1: nothing was seen" ;; esac
	"$1_end"
	note "| $1 | $VERSION | $ALLOCATORS: $EVENTS events, pristine four times |" \
		"$(echo "$STOPS" | tr ' ' '\n' | sort -n | tail -n 1) |"
}

# program_refused NAME PACKAGE COMMAND PATTERN: not touched, and told why.
program_refused() {
	case " ${PROGRAMS:-$1} " in *" $1 "*) ;; *) return ;; esac
	command -v "$3" >/dev/null 2>&1 || {
		note "| $1 | package $2 is not installed | | |"
		return
	}
	"$1_start"
	pristine_take "$VICTIM"
	for loader in auto map; do
		attach -p "$VICTIM" -d 0.1 "--loader=$loader"
		expect "$STATUS" 3 "exit status for $1"
		said_one_line "$4"
		pristine_check "$VICTIM"
	done
	"$1_end"
	note "| $1 | $(dpkg-query -W -f='${Version}' "$2") | refused: $4 | |"
}

note "| program | version | | longest stop of a thread, us |"
note "|---|---|---|---|"
program haproxy haproxy haproxy
program varnish varnish varnishd
program bind9 bind9 named
program mariadb mariadb-server mariadbd
program rsyslogd rsyslog rsyslogd
program php php8.2-fpm php-fpm8.2
program ruby ruby ruby
program python3 python3 python3
program perl perl perl
program node nodejs node
program java openjdk-17-jre-headless java
program erlang erlang-base erl
program ripgrep ripgrep rg
program_refused prometheus prometheus prometheus 'Go runtime'
