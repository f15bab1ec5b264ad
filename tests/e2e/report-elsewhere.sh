#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that does nothing and holds much, of which little is in blocks: the plain report says
# so, how to see of what, and what gives it back; the command that it names shows it.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"
cat >"$WORK/hoards.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *block[160000];
int main(void)
{
	for (int i = 0; i < 160000; i++)
		block[i] = memset(malloc(1000), 1, 1000);
	for (int i = 0; i < 160000; i++)
		if (i % 50)
			free(block[i]);
	if (write(1, "ready\n", 6) != 6)
		return 9;
	pause();
	return 0;
}
END
$CC -O0 -w -o "$WORK/hoards" "$WORK/hoards.c" || fail "no program"
background hoards "$WORK/hoards"
VICTIM=$LAST
await 30 grep -q ready "$WORK/hoards.out" || fail "the victim does not run"
pristine_take "$VICTIM"
for mode in "" --exact; do
	attach -p "$VICTIM" -d 0.3 $mode
	expect "$STATUS" 0 "exit status"
	grep -q 'elsewhere .*1[4-6][0-9] MiB of what is resident: older blocks, free memory' \
		"$REPORT" || fail "nothing is said of what is elsewhere: $(cat "$REPORT")"
	grep -q 'malloc_trim(0) gives back what is free' "$REPORT" || fail "no remedy"
done
named=$(sed -n 's/.*How much of each: memattach \(.*\)/\1/p' "$REPORT")
[ -n "$named" ] || named=$(tr -s ' \n' ' ' <"$REPORT" | sed -n \
	's/.*How much of each: memattach \(-p [0-9]* -d 0 --view=[a-z]*\).*/\1/p')
expect "$named" "-p $VICTIM -d 0 --view=fragmentation" "the command that is named"
# shellcheck disable=SC2086 # words
attach $named
expect "$STATUS" 0 "exit status of what is named"
grep -qE '1[4-6][0-9] MiB.*free|free.*1[4-6][0-9] MiB' "$REPORT" ||
	fail "it does not show what is free: $(cat "$REPORT")"
pristine_check "$VICTIM"

# Of a small process nothing is said.
victim churn churn --threads=1
attach -p "$VICTIM" -d 0.2
expect "$STATUS" 0 "exit status"
! grep -q elsewhere "$REPORT" || fail "of a small process: $(cat "$REPORT")"
finished churn
