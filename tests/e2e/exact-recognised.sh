#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode recognises stacks, and each one that it recognises is what libunwind finds in a copy:
# on victims of known truth with every stack compared, on real programs with every 16th (make
# check-targets: VERIFY=1, and more work).
: "${VERIFY:=16}" "${WORK_FACTOR:=1}"
. "$(dirname "$0")/lib.sh"
needs jq python3

# compared AT_LEAST: so many stacks were compared, none is different; most were recognised.
compared() {
	json_expect .session.stacks.mismatched 0
	json_expect ".session.stacks.audited >= $1" true
	json_expect '.session.stacks.recognised > 5 * .session.stacks.unwound' true
	note "$(jq -r '.session.stacks | "\(.recognised) recognised, \(.audited) compared, \(
		.unwound) copied"' "$REPORT")"
}

# overview OPTIONS... -- COMMAND...: the figures of the session are all that is asked for.
overview() {
	timeout 900 "$MEMATTACH" run --exact --on-overflow=block --view=overview --json "$@" \
		>"$WORK/both" 2>"$ERRORS" </dev/null || fail "exit status $?: $*"
	sed -n '/^{/,$p' "$WORK/both" >"$REPORT"
}

# program AT_LEAST COMMAND...: watched from its start, so many stacks at the least compared.
program() {
	program_least=$1
	shift
	command -v "$1" >/dev/null 2>&1 || { note "$1 is not installed"; return; }
	note "$*"
	overview --verify-stacks="$VERIFY" -- "$@"
	compared "$program_least"
}

victim truth truth_c
exact_session truth truth_c --verify-stacks=1
json_expect .session.stacks.mismatched 0
json_expect '.session.stacks.audited > 0' true
ended truth

PYTHONMALLOC=malloc
export PYTHONMALLOC
program 1000 /usr/bin/python3 -S -c "
import json
for i in range($WORK_FACTOR): json.loads(json.dumps([{'k': [1, '2']}] * 300))"
program 1000 perl -e "my @a; for (1..20000 * $WORK_FACTOR) { push @a, 'x' x (\$_ % 50);
	@a = () if @a > 1000; }"
program 100 sqlite3 :memory: "create table t(a, b);
	with recursive c(x) as (select 1 union all select x + 1 from c
		where x < 2000 * $WORK_FACTOR)
	insert into t select x, hex(x) from c; select count(*) from t;"

# Two libraries take turns at the same addresses, called from the same place: the return addresses
# of their paths are equal, and still each block is its own library's.
for letter in a b; do
	printf '#include <stdlib.h>\nvoid *plug_%s(size_t n)\n{\n\tvoid *p = malloc(n);\n\n%s\n' \
		$letter '	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}' >"$WORK/$letter.c"
	$CC -g -O1 -shared -fPIC -o "$WORK/$letter.so" "$WORK/$letter.c" || fail "$CC -shared"
done
cat >"$WORK/turns.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *turn(const char *file, const char *name, int calls)
{
	void *library = dlopen(file, RTLD_NOW), *keep = NULL;
	void *(*make)(size_t) = dlsym(library, name);

	for (int i = 0; i < calls; i++) {
		keep = make(100);
		if (i % 100 == 0 && calls == 1000)
			usleep(2000);
	}
	dlclose(library);
	return keep;
}
int main(int count, char **argument)
{
	char file[4096], name[16];

	for (int i = 0; i < atoi(argument[2]); i++) {
		snprintf(file, sizeof(file), "%s/%c.so", argument[1], "ab"[i % 2]);
		snprintf(name, sizeof(name), "plug_%c", "ab"[i % 2]);
		if (count < 4 || !turn(file, name, atoi(argument[3])))
			return 1;
	}
	return 0;
}
END
$CC -g -o "$WORK/turns" "$WORK/turns.c" || fail "$CC"
timeout 120 "$MEMATTACH" run --exact --on-overflow=block --verify-stacks=1 --json -- \
	"$WORK/turns" "$WORK" 4 1000 >"$REPORT" 2>"$ERRORS" || fail "libraries in turns: status $?"
json_expect .session.stacks.mismatched 0
json_expect '.session.stacks.recognised > 1000' true
for letter in a b; do
	plug=".frames[0].function == \"plug_$letter\""
	json_expect "[.sites[] | select($plug) | .alloc_count] | add" 2000
done

# So fast, and without a pause, that what is read of the one comes when it has gone: its copies
# can't be compared any more, and are not.
overview --on-overflow=drop --verify-stacks=1 -- "$WORK/turns" "$WORK" 60 20000
json_expect .session.stacks.mismatched 0
json_expect '.session.stacks.recognised > 1000' true

# Without it every stack is unwound, and the same sites come out.
command -v sqlite3 >/dev/null || exit 0
overview --stacks=copy -- sqlite3 :memory: 'select 1'
json_expect .session.stacks.recognised 0
json_expect '.session.stacks.unwound > 100' true
