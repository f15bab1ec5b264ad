#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks side by side without guards between them are one mapping, and a thread's stack is a small
# part of it: threads with stacks of their own, and threads that stand on fibers' stacks. What of
# the stacks has never been touched is not touched now: where the kernel has no shared page of zeros
# to read at such places, the program would keep as many pages.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/joined.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
enum { THREADS = 160, STACK = 128 * 1024 };
static int gate[2], on_fibers;
static char *pool;
static void *volatile kept[1000];
__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < 400; i++)
		free(kept[i]);
}
static void wait_here(void)
{
	char byte;

	(void)!read(gate[0], &byte, 1);
}
static void *thread(void *number)
{
	ucontext_t outside, fiber;

	if (on_fibers) {
		getcontext(&fiber);
		fiber.uc_stack.ss_sp = pool + (long)number * STACK;
		fiber.uc_stack.ss_size = STACK;
		fiber.uc_link = &outside;
		makecontext(&fiber, wait_here, 0);
		swapcontext(&outside, &fiber);
	} else {
		wait_here();
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t id[THREADS];
	pthread_attr_t plain;

	on_fibers = argc > 1 && strcmp(argv[1], "fibers") == 0;
	pool = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_init(&plain);
	pthread_attr_setstacksize(&plain, STACK);
	pthread_attr_setguardsize(&plain, 0);
	if (pipe(gate) < 0 || pool == MAP_FAILED)
		return 1;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&id[i], &plain, thread, (void *)i) != 0)
			return 2;
	sleep(1);
	puts("ready");
	fflush(stdout);
	while (getchar() == 'g') {
		work();
		puts("done");
		fflush(stdout);
	}
	close(gate[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	puts("good");
	return 0;
}
END
$CC -g -O1 -fno-builtin -pthread -D_GNU_SOURCE -o "$WORK/joined" "$WORK/joined.c" ||
	fail "compiling"
anonymous_kib() { awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"; }
for way in stacks fibers; do
	note "$way"
	background "$way" "$WORK/joined" $way
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 60 grep -q ready "$WORK/$way.out" || fail "not ready"
	pristine_take "$VICTIM"
	before=$(anonymous_kib "$VICTIM")
	# shellcheck disable=SC2086 # words
	attach_begin -p "$VICTIM" $EXACT --json
	attach_await "$VICTIM"
	tell "$way" g
	await 30 grep -q done "$WORK/$way.out" || fail "not done"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect '[.sites[] | select(.frames[].function == "work") | .alloc_count] | add' 1000
	pristine_check "$VICTIM"
	grown=$(($(anonymous_kib "$VICTIM") - before))
	note "$way: $grown KiB more in memory"
	[ "$grown" -lt 12000 ] || fail "$way: $grown KiB more in memory"
	ended "$way"
	grep -q good "$WORK/$way.out" || fail "$way: it did not end well"
done
