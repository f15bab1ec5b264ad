#!/bin/sh
# SPDX-License-Identifier: MIT
# Each filter of the log of calls shows what it says, no less and no more; bad ones are refused.
. "$(dirname "$0")/lib.sh"
needs jq python3

# filtered SELECTION OPTION: the log shows those calls of the victim for which SELECTION is
# true, $tid being the main thread, SELF in OPTION too.
filtered() {
	filtered_selection=$1
	victim traced traced --threads=2 --rounds=200
	pristine_take "$VICTIM"
	attach_begin trace -p "$VICTIM" --json "$(echo "$2" | sed "s/SELF/$VICTIM/")"
	attach_await "$VICTIM"
	truth traced
	attach_end INT
	expect "$STATUS" 0 "exit status ($2)"
	pristine_check "$VICTIM"
	jq -se --argjson tid "$VICTIM" "map(select(.event == \"call\")) |
		length > 0 and all($filtered_selection)" "$REPORT" >/dev/null ||
		fail "$2: other calls are shown, or none"
	jq -se '(map(select(.event == "totals")) | .[0]) as $totals |
		(map(select(.event == "call")) | length) == $totals.calls and
		$totals.filtered > 0' "$REPORT" >/dev/null || fail "$2: the counts are wrong"
	ended traced
}
shown() { jq -s "map(select(.event == \"call\" and ($1))) | length" "$REPORT"; }
noted() { jq "[.threads[].calls[] | select($1)] | length" "$WORK/traced.truth"; }

filtered '.size >= 1000 and .size <= 1002' --size=1000-1002
expect "$(shown '.call == "malloc"')" \
	"$(noted '.[0] == "malloc" and .[3][0] >= 1000 and .[3][0] <= 1002')" "calls by size"
jq -se 'map(select(.event == "unfreed")) | length == 3' "$REPORT" >/dev/null ||
	fail "unfreed blocks are not filtered by size"
filtered '.size == 1000' --size=1000
filtered '.call == "realloc"' --function=realloc
expect "$(shown true)" "$(noted '.[0] == "realloc"')" "calls of realloc"
filtered 'any(.frames[]; .function == "give_back")' '--function=give_*'
expect "$(shown true)" "$(noted '.[0] == "free"')" "calls by give_back"
filtered ".thread == \$tid" --thread=SELF
filtered '.frames[-1].module | endswith("/traced")' --module=traced
expect "$(shown true)" "$(noted true)" "calls by the program"
line=$(sed -n '/kept\[i\] = malloc/=' "$SRCDIR/tests/victims/traced.c")
filtered ".frames[0].line == $line" --site="traced.c:$line"
expect "$(shown '.call == "malloc"')" 3 "calls at a line"

for bad in --size= --size=5-3 --size=x --thread=-1 --thread=main; do
	attach trace -p $$ "$bad"
	expect "$STATUS" 2 "exit status of $bad"
	said_one_line "$(expr "$bad" : '--\([a-z]*\)'): "
done
attach -p $$ --size=3
expect "$STATUS" 2 "exit status of a filter without trace"
said_one_line 'memattach trace'
attach trace --sample=100 -p $$
expect "$STATUS" 2 "exit status of a sampled trace"
said_one_line 'takes no --sample'
attach trace
expect "$STATUS" 2 "exit status without a process"
said_one_line 'usage: memattach trace'
