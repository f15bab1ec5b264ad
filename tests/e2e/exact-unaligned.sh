#!/bin/sh
# SPDX-License-Identifier: MIT
# Entries whose jump lies across two aligned words, as in code that was made small (musl of -Os):
# they are hooked, exact mode equals the truth, and each is replaced and put back in one piece:
# threads that call them all the time never see half of a jump, nor does a kill leave one.
: "${TEST_LIMIT:=300}"
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}"

cat >"$WORK/unaligned.c" <<'C'
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define USED __attribute__((used, noinline))
/* Nothing around an entry is filler that a jump would fit into (hlt is none). */
#define ENTRY(name, offset) __asm__(".text\n.balign 8, 0xf4\n.skip " #offset ", 0xf4\n.globl " \
	#name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\npush %rbp\n" \
	".cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register " \
	"%rbp\ncall own_" #name "\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.size " \
	#name ", .-" #name "\n");
ENTRY(malloc, 4) ENTRY(free, 5) ENTRY(calloc, 6) ENTRY(realloc, 7) ENTRY(memalign, 4)
ENTRY(aligned_alloc, 5) ENTRY(posix_memalign, 6)
struct head { struct head *next; char *start; size_t size, class; };
static char arena[256 << 20] __attribute__((aligned(4096)));
static size_t used;
static struct head *unused[64];
static int lock;

static void *take(size_t align, size_t size)
{
	size_t whole = size + align + sizeof(struct head), class, bytes;
	struct head *head;
	char *start = NULL;

	if (size > sizeof(arena)) { errno = ENOMEM; return NULL; }
	class = 64u - (size_t)__builtin_clzll(whole - 1);
	bytes = (size_t)1 << class;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	if (unused[class]) {
		start = unused[class]->start;
		unused[class] = unused[class]->next;
	} else if (used + bytes <= sizeof(arena)) {
		start = arena + used;
		used += bytes;
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (!start) { errno = ENOMEM; return NULL; }
	head = (struct head *)(((uintptr_t)start + sizeof(*head) + align - 1) / align * align) - 1;
	*head = (struct head){ NULL, start, size, class };
	return head + 1;
}
static USED void *own_malloc(size_t size) { return take(16, size); }
static USED void own_free(void *block)
{
	struct head *head = (struct head *)block - 1;
	if (!block)
		return;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	head->next = unused[head->class];
	unused[head->class] = head;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}
static USED void *own_calloc(size_t count, size_t size)
{
	void *block = size && count > SIZE_MAX / size ? NULL : take(16, count * size);
	return block ? memset(block, 0, count * size) : NULL;
}
static USED void *own_realloc(void *block, size_t size)
{
	size_t old = block ? ((struct head *)block - 1)->size : 0;
	void *other;
	if (block && !size) { own_free(block); return NULL; }
	other = take(16, size);
	if (other && block) {
		memcpy(other, block, old < size ? old : size);
		own_free(block);
	}
	return other;
}
static USED void *own_memalign(size_t align, size_t size)
{
	return take(align < 32 ? 32 : align, size);
}
static USED void *own_aligned_alloc(size_t align, size_t size) { return own_memalign(align, size); }
static USED int own_posix_memalign(void **block, size_t align, size_t size)
{
	*block = own_memalign(align, size);
	return *block ? 0 : ENOMEM;
}
size_t malloc_usable_size(void *block) { return block ? ((struct head *)block - 1)->size : 0; }
C
$CC -w -std=gnu11 -O1 -fno-builtin -shared -fPIC -o "$WORK/unaligned.so" "$WORK/unaligned.c" ||
	fail "no allocator"

# started NAME PROGRAM...: with it preloaded, until it is ready.
started() {
	name=$1
	shift
	background "$name" env LD_PRELOAD="$WORK/unaligned.so" "$@"
	VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/$name.out" || fail "not ready: $(cat "$WORK/$name.err")"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/$name.out")
}

for loader in map dlopen; do
	started truth "$VICTIMS/truth_threads" --threads=3 --rounds=1500
	"$MEMATTACH" check -p "$VICTIM" >"$WORK/check" 2>&1 || fail "$(cat "$WORK/check")"
	expect "$(awk '/^[a-z]/ { in_it = /unaligned\.so:/ } in_it && / at 0x.*: stopped/' \
		"$WORK/check" | wc -l)" 7 "unaligned entries that are hooked ($(cat "$WORK/check"))"
	exact_session truth truth_threads --loader=$loader
	ended truth
	note "truth, $loader"
done

# Words change while threads are in a loop of calls, in and out, again and again.
started check "$VICTIMS/selfcheck" --kind=malloc-loop,signals,siglongjmp --threads=6
pristine_take "$VICTIM"
for turn in $(seq "$(in_full 40 8)"); do
	[ $((turn % 2)) -eq 0 ] && loader=map || loader=auto
	attach -p "$VICTIM" -d 0.1 --json --loader=$loader
	expect "$STATUS" 0 "exit status of attach $turn ($(cat "$ERRORS"))"
	checked check
	pristine_check "$VICTIM"
done
note "attached $turn times: $ANSWER"

finished check

# A child that was forked meanwhile has the jumps, and no list of them.
started forkers "$VICTIMS/forkers"
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --sample=1024 --json
attach_await "$VICTIM"
tell forkers f
answer forkers family
FORKED=${ANSWER#"family ok "}
own "$FORKED"
attach_end
report_good
for pid in $FORKED; do
	"$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch" || fail "$pid keeps a mapping of ours"
	"$TOOLS/pristine" compare "$pid" "$WORK/pristine.$VICTIM" >"$WORK/pristine.out" 2>&1 ||
		fail "child $pid is not pristine: $(cat "$WORK/pristine.out")"
done
pristine_check "$VICTIM"
finished forkers
for pid in $FORKED; do
	kill -TERM "$pid" 2>/dev/null
done
for pid in $FORKED; do
	await 30 grep -q "^child ok $pid\$" "$WORK/forkers.out" || fail "child $pid ended badly"
done

started check "$VICTIMS/selfcheck" --kind=malloc-loop,signals,siglongjmp --threads=6
pristine_take "$VICTIM"
[ -x "$MEMATTACH_STEPS" ] || skip "no build with a step counter"
stride=$(in_full 7 41)
step=$((1 + DEAL % stride)) killed=0
while :; do
	MEMATTACH_KILL_STEP=$step timeout -k 5 60 "$MEMATTACH_STEPS" -p "$VICTIM" -d 0.1 \
		--sample=4096 >"$WORK/out" 2>"$ERRORS" </dev/null && break
	"$TOOLS/ringwatch" "$VICTIM" inert 1000 >"$WORK/ringwatch" || fail "step $step: not inert"
	checked check
	timeout 60 "$MEMATTACH_STEPS" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>"$ERRORS" ||
		fail "step $step: cleanup ended with status $?: $(cat "$ERRORS")"
	pristine_check "$VICTIM"
	killed=$((killed + 1)) step=$((step + stride))
done
[ "$killed" -ge 3 ] || fail "only $killed steps were killed at"
checked check
finished check
note "$killed kills, every $stride: $ANSWER"

# As the service does, which writes words by ptrace: /proc/PID/mem is not open to it for writing.
is_root && sh "$E2E/as_unit.sh" memattach@ true 2>/dev/null ||
	{ note "not as the unit's user"; exit 0; }
as_unit
started check "$VICTIMS/selfcheck" --kind=malloc-loop,signals --threads=4
pristine_take "$VICTIM"
for turn in 1 2 3; do
	attach -p "$VICTIM" -d 0.1 --json
	expect "$STATUS" 0 "exit status as the unit's user ($(cat "$ERRORS"))"
	checked check
	pristine_check "$VICTIM"
done
finished check
note "as the unit's user: $ANSWER"
