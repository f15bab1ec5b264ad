#!/bin/sh
# SPDX-License-Identifier: MIT
# What is said of lost blocks from before the attach: who named them last, which site allocates
# such blocks, and what they hold: that only where it is asked for, on the terminal, in the
# document and in a recording.
. "$(dirname "$0")/lib.sh"
needs jq python3
cat >"$WORK/program.cc" <<'END'
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
struct owner { long id, other; char *member; };
static struct owner *volatile owners[20];
/* Two callers, one place: the hint names it all the same. */
__attribute__((noinline)) static char *make_member() { return (char *)memset(malloc(200), 1, 200); }
__attribute__((noinline)) static void lose_owned()
{
	for (int i = 0; i < 20; i++) {
		owners[i] = (struct owner *)calloc(1, sizeof(struct owner));
		owners[i]->member = make_member();
	}
	for (int i = 0; i < 20; i++) {
		free(owners[i]);
		owners[i] = NULL;
	}
}
__attribute__((noinline)) static void lose_here() { (void)make_member(); }
__attribute__((noinline)) static void lose_there() { (void)make_member(); __asm__ volatile(""); }
__attribute__((noinline)) static void lose_texts()
{
	static std::string *volatile sink;
	static char *volatile text;
	sink = new std::string("a small one");
	sink = new std::string("a string of more than fifteen bytes");
	sink = NULL;
	text = strcpy((char *)malloc(72), "secret-of-the-test\t\033[2J");
	text = strcpy((char *)malloc(72), "secret-of-the-test\tx");
	text = NULL;
}
__attribute__((noinline)) static void wipe()
{
	char stack[8192];
	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}
/* Its pointers stay in the dead part of the stack, far below what main and signals need. */
__attribute__((noinline)) static void keep_in_frame()
{
	char *volatile local[40];
	for (int i = 0; i < 40; i++)
		local[i] = (char *)memset(malloc(5000), 1, 5000);
	__asm__ volatile("" : : "r"(local) : "memory");
}
__attribute__((noinline)) static void lose_deep()
{
	volatile char pad[40000];
	pad[0] = 0;
	keep_in_frame();
	pad[1] = 0;
}
int main()
{
	char command;
	/* Not searched, and said so. */
	if (mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED) return 9;
	if (write(1, "ready\n", 6) != 6) return 9;
	while (read(0, &command, 1) == 1 && command != 'q') {
		if (command == 'o') lose_owned();
		else if (command == 't') lose_texts();
		else if (command == 'l') { lose_here(); lose_there(); }
		if (command == 'd') lose_deep();
		else wipe();
		if (write(1, "lost ok\n", 8) != 8) return 9;
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CXX -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.cc" || fail "compiling"
background program "$WORK/program"
VICTIM=$LAST VICTIM_SELF=$LAST
await 20 grep -q ready "$WORK/program.out" || fail "the program does not start"
for command in o t; do
	tell program $command
	answer program lost
done
pristine_take "$VICTIM"

# private FILE: none of what blocks hold is in it, not as text and not in hexadecimal.
private() {
	for word in secret-of 'a small one' 'more than fifteen' 7365637265742d6f66 \
		'73 65 63 72 65 74' 6120736d616c6c; do
		! grep -qaF "$word" "$1" || fail "$1 has contents of blocks: $word"
	done
}

attach -p "$VICTIM" --leaks -d 0 --json -o "$WORK/recording"
expect "$STATUS" 1 "exit status"
json_valid
json_expect '[.leaks.groups[] | has("contents")] | any' false
private "$REPORT"
private "$WORK/recording"
json_expect .leaks.unread_shared_bytes 3145728
owned='.leaks.groups[] | select(.size == 200 and .site == null)'
json_expect "[$owned] | length" 1
json_expect "$owned | .count" 20
json_expect "$owned | .last_held_by" "a freed block of 24 bytes, at +16"
[ "$(json "$owned | .last_held_count")" -ge 10 ] || fail "few traces: $(json "$owned")"
json_expect "$owned | .likely_site" null
cp "$REPORT" "$WORK/first.json"
attach report --json "$WORK/recording"
expect "$STATUS" 0 "exit status of report"
cmp "$REPORT" "$WORK/first.json" || fail "the recording has another report"
attach leaks -p "$VICTIM"
private "$REPORT"
grep -q 'still named by a freed block of 24 bytes, at +16 (.* of 20)' "$REPORT" ||
	fail "no hint in the text"
grep -q '3.00 MiB of shared memory were not searched' "$REPORT" || fail "no word of shared memory"

tell program d
answer program lost
attach leaks -p "$VICTIM" --json
deep='.leaks.groups[] | select(.size_class == 5120)'
json_expect "$deep | .last_held_by" \
	"what calls left below the stack of thread $VICTIM, next to a call from lose_deep()"
json_expect "$deep | .last_held_count" 40

attach leaks -p "$VICTIM" --show-bytes=8 --json
json_valid
json_expect '[.leaks.groups[].contents[].bytes | length == 16] | all' true
json_expect '[.leaks.groups[].contents[].text | select(. == "secret-o")] | length' 2
json_expect '[.leaks.groups[].contents[] | select(.text == "a string") | .text_cut] | tostring' \
	'[true]'
attach leaks -p "$VICTIM" --show-bytes=64 -o "$WORK/recording"
grep -qF 'std::string "a small one"' "$REPORT" || fail "no small string: $(cat "$REPORT")"
grep -qF 'std::string "a string of more than fifteen bytes"' "$REPORT" || fail "no std::string"
grep -qF '  "secret-of-the-test\tx"' "$REPORT" || fail "no string with escapes"
grep -qF '73 65 63 72 65 74 2d 6f  66 2d 74 68 65 2d 74 65  |secret-of-the-te|' "$REPORT" ||
	fail "no bytes"
! grep -q "$(printf '\033')" "$REPORT" || fail "a control character"
mv "$REPORT" "$WORK/first.txt"
attach report "$WORK/recording"
cmp "$REPORT" "$WORK/first.txt" || fail "the recording has other contents"
pristine_check "$VICTIM" --quiet

attach_begin -p "$VICTIM" $EXACT --leaks --json
attach_await "$VICTIM"
tell program l
answer program lost
attach_end INT
json_valid
json_expect "[.leaks.groups[] | select(.size == 200 and .site != null)] | length" 2
json_expect ". as \$all | $owned | .likely_site as \$id |
	\$all.sites[] | select(.id == \$id) | .frames[0].function" 'make_member()'
pristine_check "$VICTIM" --quiet
ended program
