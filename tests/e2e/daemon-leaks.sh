#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd has a process searched for leaks when its rule says so, and tells what is definitely
# lost: with numbers, once, until there is twice as much. The process is left as it was.
. "$(dirname "$0")/lib.sh"
. "$E2E/daemon_lib.sh"
cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS/" || fail "no copy"
cat >"$WORK/on_event" <<END
#!/bin/sh
echo "\$MEMATTACH_EVENT \$MEMATTACH_TARGET_PID \$MEMATTACH_LEAKED_BLOCKS" \\
	"\$MEMATTACH_LEAKED_BYTES" >>"$WORK/events"
END
chmod +x "$WORK/on_event"

victim loses ticking --every=50 --lose=5000
LOSES=$VICTIM
victim keeps ticking --every=50
KEEPS=$VICTIM
pristine_take "$LOSES"
rules "[daemon]
on-event = $WORK/on_event
metrics-file = $WORK/memattach.prom
metrics-every = 1s
[watch ticking]
exe = $VICTIMS/ticking
leak-check = 1s"
begin
armed "$LOSES"
armed "$KEEPS"
told() { [ "$(grep -c "^leak $LOSES " "$WORK/events")" -ge "$1" ]; }
await 30 told 2 || fail "nothing is told of $LOSES: $(cat "$WORK/events" "$log")"
awk -v pid="$LOSES" '$1 == "leak" && $2 == pid {
		if ($4 % 5000 || $4 != $3 * 5000 || $4 < 2 * last) exit 1
		last = $4 }' "$WORK/events" || fail "other numbers: $(cat "$WORK/events")"
! grep "^leak $KEEPS" "$WORK/events" || fail "nothing is lost in $KEEPS"
! grep "no search for leaks" "$log" || fail "a search failed"
counted() {
	awk -v pid="$1" -v kind="$2" '
		index($0, "memattach_target_lost_bytes{pid=\"" pid "\"") == 1 &&
			index($0, "kind=\"" kind "\"") { print $NF; exit }' "$WORK/memattach.prom"
}
last=$(awk -v pid="$LOSES" '$1 == "leak" && $2 == pid { last = $4 } END { print last }' \
	"$WORK/events")
in_metrics() { [ "$(counted "$LOSES" definitely)" -ge "$last" ] 2>/dev/null; }
await 20 in_metrics || fail "leaks are no metric: $(cat "$WORK/memattach.prom")"
[ $(($(counted "$LOSES" definitely) % 5000)) -eq 0 ] ||
	fail "other bytes: $(cat "$WORK/memattach.prom")"
expect "$(counted "$KEEPS" definitely)" 0 "what $KEEPS has lost"
end
pristine_check "$LOSES"
finished loses
VICTIM_SELF=$KEEPS
finished keeps
