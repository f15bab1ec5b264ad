#!/bin/sh
# SPDX-License-Identifier: MIT
# A target that does nothing is not woken, not once, and watching it takes less than a thousandth
# of a processor, in all modes, and few pages of the shared memory.
. "$(dirname "$0")/lib.sh"
needs jq

# Context switches of all threads of a process: voluntary and not; and system calls in progress.
switches() {
	for thread in /proc/"$1"/task/*; do
		echo "${thread##*/} $(grep -h ctxt "$thread/status" | tr -s '\n\t' '  ')" \
			"$(cut -d ' ' -f 1,9 "$thread/syscall" 2>/dev/null)"
	done
}

# Nanoseconds that processes have run for, all their threads together.
ran() {
	for process in "$@"; do
		cat "/proc/$process/task"/*/schedstat 2>/dev/null
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# KiB of the ring that one of the processes has in its memory, the most.
ring_kib() {
	for process in "$@"; do
		awk '/memattach-ring/ { ours = 1 }
			/^Rss:/ && ours { sum += $2; ours = 0 }
			END { print sum + 0 }' "/proc/$process/smaps"
	done | sort -n | tail -n 1
}

now() { date +%s%N; }

# still_idle SECONDS MOST-KIB OPTIONS
still_idle() {
	seconds=$1 most_kib=$2
	shift 2
	attach_begin -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	sleep 1.5	# what the beginning takes is not meant
	switches "$VICTIM" >"$WORK/before"
	watchers=$(attach_processes)
	begin=$(now) spent=$(ran $watchers)
	sleep "$seconds"
	spent=$(($(ran $watchers) - spent)) took=$(($(now) - begin))
	switches "$VICTIM" >"$WORK/after"
	cmp -s "$WORK/before" "$WORK/after" ||
		fail "the target was woken: $(diff "$WORK/before" "$WORK/after")"
	note "$*: $((spent / 1000)) us in $((took / 1000000)) ms"
	kib=$(ring_kib $watchers)
	note "$kib KiB of the ring"
	[ "$kib" -gt 0 ] || fail "nobody has the ring"
	[ "$kib" -lt "$most_kib" ] || fail "$kib KiB of the ring are there for an idle process"
	[ $((spent * 1000)) -lt "$took" ] ||
		fail "watching an idle process took $spent ns in $took ($*)"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
}

victim load load --threads=6
tell load i
answer load check
pristine_take "$VICTIM"
still_idle 10 128
still_idle 4 416 --exact
pristine_check "$VICTIM" --quiet
finished load
