#!/bin/sh
# SPDX-License-Identifier: MIT
# A program of which a thread is in the middle of a large write, send or receive half of the time: a
# stop would end it with a part. Of those that go on meanwhile one in a hundred is; without waiting
# for their end one in nine.
. "$(dirname "$0")/lib.sh"
needs jq
# At a low priority, a transfer would last longer than memattach waits, beside other tests.
LOW=

# moved NAME: a block more in each thread. Sets SHORTS, how many were not whole so far, and MOVED.
moved() {
	checked "$1"
	SHORTS=$(echo "$ANSWER" | cut -d ' ' -f 3)
	MOVED=$(echo "$ANSWER" | cut -d ' ' -f 5)
}

# few PERCENT NAME: at most so many of the transfers were cut short, or three: by chance, that many
# of fifty may be. Not so many an attach: beside other tests all takes longer, patience is at an end
# earlier, and more transfers go on meanwhile.
few() {
	note "$2: $SHORTS of $MOVED short"
	[ "$SHORTS" -le 3 ] || [ $((SHORTS * 100)) -le $((MOVED * $1)) ] ||
		fail "stopped in the middle of $SHORTS of $MOVED transfers, $2"
}

for number in 1 2 3; do	# pipe; then a socket, too; then receives, too
	victim moves transfers --threads="$number"
	pristine_take "$VICTIM"
	moved moves
	expect "$SHORTS" 0 "short before memattach came"
	for options in "" --loader=map --leaks; do
		for _ in $(seq "$(in_full 5 2)"); do
			# shellcheck disable=SC2086 # none, or a word
			attach -p "$VICTIM" -d 0.1 --json $options
			case " $options $STATUS" in
			' --leaks '*1 | *' 0') ;;
			*) fail "exit status $STATUS, $options" ;;
			esac
			json_expect .session.detached pristine
		done
	done
	pristine_check "$VICTIM"
	moved moves
	few 6 "$number threads"
	ended moves
done

# Nor does it cost one to ask each thread what it may do: whether its calls are dispatched (where
# SIGSYS is handled), what its filter lets pass.
for why in sigsys filter; do
	[ "$why" = sigsys ] || sees_filters || { note "no filters can be read here"; continue; }
	victim asked transfers --threads=3 --looked-at="$why"
	pristine_take "$VICTIM"
	for _ in $(seq "$(in_full 10 4)"); do
		attach -p "$VICTIM" -d 0.1 --json --loader=map
		expect "$STATUS" 0 "exit status, $why"
		json_expect .session.detached pristine
	done
	pristine_check "$VICTIM"
	moved asked
	few 6 "$why"
	ended asked
done

# One that is never without such a call is attached to all the same.
victim never transfers --threads=1 --rest=0
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 0.1 --json
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
pristine_check "$VICTIM"
ended never

# Who submits a request to the kernel's ring and waits for its completion in one call would be told
# that it was submitted, before there is one.
victim ring ring_waits
if [ "$VICTIM" = none ]; then
	note "there is no io_uring here"
else
	for options in "" --loader=map --leaks; do
		for _ in 1 2 3; do
			# shellcheck disable=SC2086 # none, or a word
			attach -p "$VICTIM" -d 0.1 --json $options
			json_expect .session.detached pristine
		done
	done
	moved ring
	note "ring: $SHORTS short, $ANSWER"
	[ "$SHORTS" -le 5 ] || fail "stopped in the middle of $SHORTS waits for a ring"
	ended ring
fi

# The service's user may not write where the kernel gives a process's memory away: each word goes by
# a thread that is stopped for it, and there are dozens. The first of this one is always in a write.
cat >"$WORK/writes.py" <<'END'
import os, sys, threading, time
down, up = os.pipe()
block = b"x" * (512 * 1024)
def take():
    while os.read(down, 16384):
        time.sleep(0.001)
threading.Thread(target=take, daemon=True).start()
moved = shorts = 0
while True:
    wrote = os.write(up, block)
    moved += 1
    shorts += wrote < len(block)
    with open(sys.argv[1] + ".new", "w") as out:
        out.write(f"{moved} {shorts}\n")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
END
is_root && command -v setpriv >/dev/null && command -v python3 >/dev/null || {
	note "not tried as the service's user: needs root, setpriv, python3"
	exit 0
}
as_unit
python3 "$WORK/writes.py" "$WORK/written" &
VICTIM=$!
own "$VICTIM"
await 30 test -s "$WORK/written" || fail "no victim"
pristine_take "$VICTIM"
for _ in 1 2 3 4 5; do
	attach -p "$VICTIM" -d 0.1 --json --loader=map
	expect "$STATUS" 0 "exit status, as the service's user"
	json_expect .session.detached pristine
done
pristine_check "$VICTIM"
read -r MOVED SHORTS <"$WORK/written"
few 12 "as the service's user"
