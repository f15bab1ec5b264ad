#!/bin/sh
# SPDX-License-Identifier: MIT
# A program with nearly as many mappings as the kernel allows it: what maps nothing in it still
# looks at it. A watch, which would, is refused with the number and the remedy.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"
limit=$(cat /proc/sys/vm/max_map_count)
[ "$limit" -le 200000 ] || skip "vm.max_map_count is $limit: too many to make"

cat >"$WORK/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *volatile lost;
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int count = 0;
	for (int c; (c = fgetc(maps)) != EOF;) count += c == '\n';
	fclose(maps);
	return count;
}
__attribute__((noinline)) static void lose_blocks(void)
{
	for (int i = 0; i < 50; i++) lost = memset(malloc(3000), 1, 3000);
	lost = NULL;
}
int main(int count, char **argument)
{
	int wanted = atoi(argument[count - 1]);
	char *area, command, clear[4096];
	lose_blocks();
	memset(clear, 0, sizeof(clear));
	__asm__ volatile("" : : "r"(clear) : "memory");
	area = mmap(NULL, wanted * 4096l, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; mappings() < wanted && i < wanted; i += 200)
		for (int j = i; j < i + 200 && j < wanted; j += 2)
			if (mprotect(area + j * 4096l, 4096, PROT_READ)) goto full;
full:
	dprintf(1, "ready %d\n", getpid());
	while (read(0, &command, 1) == 1 && command != 'q') dprintf(1, "check ok\n");
	return 0;
}
END
$CC -O1 -w -o "$WORK/program" "$WORK/program.c" || fail "can't build the program"
VICTIMS=$WORK
victim many program "$limit"
count=$(wc -l <"/proc/$VICTIM/maps")
[ "$count" -gt $((limit - 64)) ] || fail "only $count mappings"
note "$count mappings of at most $limit"
pristine_take "$VICTIM"

attach leaks -p "$VICTIM" --json
expect "$STATUS" 1 "exit status of leaks"
json_expect .leaks.definitely_lost.count 50
checked many
pristine_check "$VICTIM"

attach -p "$VICTIM" -d 0.1 --json
expect "$STATUS" 3 "exit status of a watch"
said_one_line "has $count mappings of at most $limit; raise it: sudo sysctl vm.max_map_count="
checked many
pristine_check "$VICTIM"
ended many
