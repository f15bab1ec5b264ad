#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that has forged the loader's lists, its libraries' headers, its threads or its heap
# (tests/victims/liar.c): memattach ends soon, with a report or with a refusal in one line, and the
# process is as it was. Watched without dlopen, which would be the target's own code on its lies.
TEST_LIMIT=${TEST_LIMIT:-420}
. "$(dirname "$0")/lib.sh"
needs jq
ATTACH_LIMIT=60	# seconds; some take three on an idle machine, most a tenth of one

# A report, or a refusal that says why. The kind of the end is shown.
ended_well() {
	case $STATUS in
	0 | 1) [ "$(json .session.detached)" = pristine ] || fail "$1: $(json .session.detached)" ;;
	3) said_one_line "." ;;
	6) grep -q "its heap is damaged" "$ERRORS" || fail "$1: exit status 6" ;;
	*) fail "$1: exit status $STATUS" ;;
	esac
	note "$1: $STATUS $(head -c 150 "$ERRORS")"
}

for kind in link-cycle link-million link-wild link-names link-dynamic spaces headers dynamic noise \
	file dtv dtv-wild threads stacks arenas chunks lists vtables modules; do
	dealt 5 || continue
	cp "$VICTIMS/plug_a.so" "$WORK/plug.so" || fail "plug_a.so"
	victim liar liar --kind=$kind --file="$WORK/plug.so"
	pristine_take "$VICTIM"
	attach -p "$VICTIM" --leaks -d 0 --json
	ended_well "$kind, -d 0"
	pristine_check "$VICTIM"
	attach -p "$VICTIM" --leaks -d 1 --loader=map --json
	ended_well "$kind, -d 1"
	pristine_check "$VICTIM"
	ended liar
	rm -f "$WORK/plug.so"
done
