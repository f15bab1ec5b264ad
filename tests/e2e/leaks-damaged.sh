#!/bin/sh
# SPDX-License-Identifier: MIT
# A block that its owner has protected, and damage to a heap, do not cost the whole leak report:
# they are named, what can be proven beside them is reported, and nothing that is held is lost.
# Under jemalloc, mimalloc and musl, too.
. "$(dirname "$0")/lib.sh"
needs jq python3
cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *volatile kept[3000];
static void *volatile held[2];
static char *volatile lost, *volatile last;
#define WORD 0x4141414141414141
/* Three cached blocks of 40 bytes, twenty of them: more than a tcache takes. */
__attribute__((noinline)) static void write_over_cached(int count)
{
	void **block[20];
	for (int i = 0; i < count; i++) block[i] = malloc(40);
	for (int i = 0; i < count; i++) free(block[i]);
	*block[count - 1] = (void *)WORD;
	memset(block, 0, sizeof(block));
	__asm__ volatile("" : : "r"(block) : "memory");
}
__attribute__((noinline)) static void lose_blocks(void)
{
	for (int i = 0; i < 3000; i++) kept[i] = memset(malloc(100), 1, 100);
	for (int i = 0; i < 50; i++) lost = memset(malloc(3000), 1, 3000);
	for (int i = 0; i < 20; i++) lost = memset(malloc(500), 1, 500);
	lost = NULL;
	last = memset(malloc(700), 1, 700);	/* registers may hold it */
}
__attribute__((noinline)) static void damage(char how)
{
	char *block;
	void **bin[2];
	switch (how) {
	case 'p':	/* with a mapping of its own, at its header */
		block = calloc(200000, 1);
		held[0] = block;
		mprotect(block - 16, 4096, PROT_NONE);
		break;
	case 'P':	/* in the midst of the heap */
		mprotect((char *)((unsigned long)kept[1500] & ~4095ul), 4096, PROT_NONE);
		break;
	case 'o':	/* over the end of a block */
		memset((char *)kept[1500] + 100, 'A', 24);
		break;
	case 's':	/* a size that leads into another block */
		((size_t *)kept[1500])[-1] += 0x100;
		break;
	case 't': write_over_cached(3); break;
	case 'f': write_over_cached(20); break;
	case 'b':	/* a link in a bin */
		for (int i = 0; i < 2; i++) {
			bin[i] = malloc(2000);
			held[i] = malloc(24);
		}
		free(bin[0]);
		free(bin[1]);
		bin[1][1] = (void *)(WORD & ~15ul);
		break;
	case 'm':	/* the size of a block with a mapping of its own */
		held[0] = malloc(300000);
		((size_t *)held[0])[-1] = 0x4141;
		break;
	}
}
__attribute__((noinline)) static void wipe(void)
{
	char stack[16384];
	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}
int main(int argc, char **argv)
{
	lose_blocks();
	damage(argv[1][0]);
	wipe();
	if (write(1, "ready\n", 6) != 6) return 9;
	pause();
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -w -o "$WORK/program" "$WORK/program.c" || fail "compiling"

PROGRAM=program PRELOAD=
lost_groups='[.leaks.groups[] | select(.verdict == "definitely-lost") | [.count, .size]] | sort |
	tostring'

# searched DAMAGE [LOST]: a report is made, with all that was lost and nothing else. False: it is
# not dealt.
searched() {
	dealt 2 || return 1
	background program env LD_PRELOAD="$PRELOAD" "$WORK/$PROGRAM" "$1"
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 20 grep -q ready "$WORK/program.out" || fail "the program does not start"
	attach leaks -p "$VICTIM" --json
	status=1
	[ "${2:-}" != '[]' ] || status=0
	expect "$STATUS" "$status" "exit status, $PROGRAM $PRELOAD $1: $(cat "$ERRORS")"
	json_valid
	json_expect "$lost_groups" "${2:-[[20,504],[50,3000]]}"
	is_gone "$VICTIM" && fail "$1: the process is gone"
	kill -KILL "$VICTIM"
	wait "$VICTIM" 2>/dev/null
}

# damaged DAMAGE WORDS [LOST]: the heap is said to be damaged, by these words.
damaged() {
	searched "$1" "${3:-}" || return 0
	json_expect .leaks.covers_older_blocks false
	json '.leaks.heaps[] | select(.allocator == "glibc") | .why' |
		grep -q "it is damaged ($2" ||
		fail "$1: $(json '.leaks.heaps | tostring')"
}

if searched p; then
	json_expect .leaks.covers_older_blocks true
	json_expect .leaks.protected_blocks.count 1
	[ "$(json .leaks.protected_blocks.bytes)" -ge 200000 ] ||
		fail "the protected block's size"
fi
if searched P; then
	json_expect .leaks.covers_older_blocks true
	[ "$(json .leaks.protected_blocks.count)" -ge 30 ] ||
		fail "few blocks are protected in a page"
fi
damaged o 'a chunk has no plausible size at 0x'
damaged s 'a .* at 0x'
damaged t 'the tcache of a thread is inconsistent'
damaged f '.*'
damaged b 'a list of free chunks is broken'
damaged m '0 blocks with mappings of their own, not 1'

# elsewhere ALLOCATOR [DAMAGE...]: the groups in LOST are found with and without damage, unless the
# heap can't be read: then that is said with the reason, and nothing of it is called lost.
elsewhere() {
	allocator=$1
	shift
	heap=".leaks.heaps[] | select(.allocator == \"$allocator\")"
	searched n "$LOST" && json_expect "$heap | .covered" true
	for each in "$@"; do
		groups=$LOST
		case $allocator,$each in mimalloc,[tf]) groups='[]' ;; esac
		searched "$each" "$groups" || continue
		[ "$groups" = "$LOST" ] && json_expect "$heap | .covered" true
		[ "$groups" = "$LOST" ] ||
			json_expect "$heap | .why" 'a list of freed blocks is broken'
		[ "$each" != P ] || [ "$(json .leaks.protected_blocks.count)" -ge 30 ] ||
			fail "$allocator: few blocks are protected in a page"
	done
}

# mimalloc's list of freed blocks goes through them: damage to one costs that heap, and it is said.
PRELOAD=libjemalloc.so.2 LOST='[[20,512],[50,3072]]'
! is_known_jemalloc "$(ldconfig -p | sed -n "s/.*$PRELOAD .* => //p" | head -n 1)" ||
	elsewhere jemalloc P o s t f
PRELOAD=libmimalloc.so.2 LOST='[[20,512],[50,3072]]'
! is_known_mimalloc "$PRELOAD" || elsewhere mimalloc P o s t f
PRELOAD='' PROGRAM=musl LOST='[[20,500],[50,3000]]'
if musl-gcc -g -O1 -fno-builtin -w -o "$WORK/musl" "$WORK/program.c" 2>/dev/null; then
	elsewhere musl P o s t f
fi
