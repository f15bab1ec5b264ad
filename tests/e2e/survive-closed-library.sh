#!/bin/sh
# SPDX-License-Identifier: MIT
# A library in which functions are hooked is closed after memattach was killed, or closed and opened
# again: cleanup takes out the rest.
. "$(dirname "$0")/lib.sh"

for loader in map dlopen; do
	for what in x xo; do
		note "$loader, $what"
		victim plug truth_dlopen "$VICTIMS"
		pristine_take "$VICTIM"
		tell plug o
		answer plug open
		attach_begin -p "$VICTIM" $EXACT --json --loader="$loader" \
			--alloc-fn=plug_allocate_a
		attach_await "$VICTIM"
		attach_kill
		tell plug "$what"
		answer plug close
		[ "$what" = x ] || answer plug open
		cleaned_up "$VICTIM"
		if [ "$what" = xo ]; then
			tell plug x
			answer plug close
		fi
		pristine_check "$VICTIM"
		ended plug
	done
done
