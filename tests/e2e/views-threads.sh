#!/bin/sh
# SPDX-License-Identifier: MIT
# Who allocates, who frees what others allocated: the view threads and --thread equal the books of a
# victim whose threads free each other's blocks, by number, id and name.
. "$(dirname "$0")/lib.sh"
needs jq python3

victim handover handover
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT -o "$WORK/recording" --view=threads
attach_await "$VICTIM"
tell handover g
answer handover handed
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
cp "$REPORT" "$WORK/session"
grep -E '^(thread|part|given) ' "$WORK/handover.out" >"$WORK/truth"

# shown FILE ARGUMENTS: report on the recording, to $WORK/views/FILE.json.
shown() {
	shown_to=$WORK/views/$1.json
	shift
	"$MEMATTACH" report "$WORK/recording" --json "$@" >"$shown_to" 2>"$ERRORS" ||
		fail "report $*: $(cat "$ERRORS")"
}

mkdir "$WORK/views"
shown threads threads
for tid in $(sed -n 's/^thread \([0-9]*\) .*/\1/p' "$WORK/truth"); do
	shown "$tid.filter" filter "--thread=$tid"
	shown "$tid.tree" tree "--thread=$tid"
	shown "$tid.blocks" blocks "--thread=$tid"
done
shown worker.filter filter --thread=worker
cat "$WORK/views"/*.json >"$WORK/documents"
schema_valid views "$WORK/documents"
python3 "$E2E/check_threads.py" "$WORK/truth" "$WORK/views" || fail "the truth is another"

attach report "$WORK/recording" threads
cmp "$WORK/session" "$REPORT" || fail "report threads differs from --view=threads"
number=$(jq '.threads[0].number' "$WORK/views/threads.json")
tid=$(jq '.threads[0].tid' "$WORK/views/threads.json")
shown number filter "--thread=$number"
cmp "$WORK/views/number.json" "$WORK/views/$tid.filter.json" || fail "a number is no id"
ended handover
