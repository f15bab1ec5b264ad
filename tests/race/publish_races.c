/* SPDX-License-Identifier: MIT */
/*
 * publish_races.c - what a reader without a lock can see of a publisher's stores on a processor
 * that makes them visible in another order than the program's.
 *
 * x86 never does, but the code is not written for it alone. Of each store is known what must have
 * become visible before it: what comes before it in the program if it is a release; what comes
 * before a fence that it follows; what was stored to the same word. All else is free. The reader
 * asks for the generation, count and contents, and the generation again, at all moments in between,
 * and must never take for good what is half of one publication and half of the next.
 *
 * The stores of ring_publish.c are those that it makes (weak.h); those of rule_table.c, which needs
 * modules to publish, are written down here. Each is tried without its fences as well: then there
 * must be an order in which the reader is misled. Else the test would show nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "inject/attach/ring_publish.h"
#include "tests/race/weak.h"

enum { STORES = 16, WORDS = 12, LOADS = 5 };

struct store {
	int word;
	uint64_t value;
	int after;	/* of the stores before it these many are visible first */
};

static struct store store[STORES];
static int stores, fenced;
static const volatile void *address[WORDS];
static uint64_t first[WORDS], value[WORDS];
static int words;
static bool without_fences;

static int word_of(const volatile void *at)
{
	for (int i = 0; i < words; i++)
		if (address[i] == at)
			return i;
	if (words == WORDS)
		abort();
	address[words] = at;
	return words++;
}

void weak_store(const volatile void *at, uint64_t to, int order)
{
	if (stores == STORES)
		abort();
	store[stores] = (struct store){
		.word = word_of(at), .value = to,
		.after = order == __ATOMIC_RELAXED ? fenced : stores,
	};
	stores++;
}

void weak_fence(int order)
{
	if (!without_fences && order != __ATOMIC_ACQUIRE)
		fenced = stores;
}

/* The reader: which words it loads, what it got, and whether that may be taken for good. */
static struct reader {
	int word[LOADS];	/* generation, count, two that belong together, generation */
	uint64_t got[LOADS];
	int loads;
} reader;

static uint64_t elsewhere;	/* a generation with which nobody reads these words */
static unsigned long orders, misled;

static void judge(void)
{
	orders++;
	misled += reader.got[0] == reader.got[4] && reader.got[0] != elsewhere &&
		  reader.got[1] == 1 && reader.got[3] - reader.got[2] != 1;
}

static bool may_come(int i, unsigned int visible)
{
	unsigned int before = (1u << store[i].after) - 1;

	if (visible & (1u << i))
		return false;
	for (int k = 0; k < i; k++)
		if (store[k].word == store[i].word)
			before |= 1u << k;
	return (visible & before) == before;
}

/* From here on everything that can happen. */
static void explore(unsigned int visible)
{
	if (reader.loads == LOADS) {
		judge();
		return;
	}
	reader.got[reader.loads] = value[reader.word[reader.loads]];
	reader.loads++;
	explore(visible);
	reader.loads--;
	for (int i = 0; i < stores; i++) {
		uint64_t old = value[store[i].word];

		if (!may_come(i, visible))
			continue;
		value[store[i].word] = store[i].value;
		explore(visible | 1u << i);
		value[store[i].word] = old;
	}
}

static void begin(bool fences)
{
	stores = fenced = words = 0;
	without_fences = !fences;
	elsewhere = 0;
	orders = misled = 0;
}

/* What the reader loads, in its order, and what each word was before. */
static void read_words(const volatile void *generation, const volatile void *count,
		       const volatile void *low, const volatile void *high, const uint64_t was[4])
{
	const volatile void *at[LOADS] = { generation, count, low, high, generation };

	reader.loads = 0;
	for (int i = 0; i < LOADS; i++)
		reader.word[i] = word_of(at[i]);
	for (int i = 0; i < 4; i++)
		first[reader.word[i]] = was[i];
	for (int i = 0; i < words; i++)
		value[i] = first[i];
}

/* One range gives way to another; both are one byte long, so that a mixture shows. */
static void publish_stacks(bool fences)
{
	static struct ring_control control;
	const struct ring_range range = { 301, 302 };
	const struct ring_stacks stacks = { .count = 1, .range = &range };
	const uint64_t was[4] = { 1, 1, 101, 102 };

	begin(fences);
	control.stack_generation = 1;
	control.stack_count = 1;
	control.stack[0] = (struct ring_range){ 101, 102 };
	if (ring_publish_stacks(&control, &stacks, 0))
		abort();
	read_words(&control.stack_generation, &control.stack_count, &control.stack[0].low,
		   &control.stack[0].high, was);
	explore(0);
}

/* rule_table.c: generation 4 is published, then 6, into the directory that a reader of 4 is in. */
static void publish_directory(bool fences)
{
	static uint64_t generation, count, low, high;
	const uint64_t was[4] = { 4, 1, 101, 102 };

	begin(fences);
	elsewhere = 5;	/* the other directory's */
	weak_store(&generation, 5, __ATOMIC_SEQ_CST);
	weak_store(&count, 0, __ATOMIC_SEQ_CST);
	weak_fence(__ATOMIC_RELEASE);
	weak_store(&low, 301, __ATOMIC_RELAXED);
	weak_store(&high, 302, __ATOMIC_RELAXED);
	weak_store(&count, 1, __ATOMIC_SEQ_CST);
	weak_store(&generation, 6, __ATOMIC_SEQ_CST);
	read_words(&generation, &count, &low, &high, was);
	explore(0);
}

/* rule_table.c: nothing holds, and all places are given anew. */
static void start_over(bool fences)
{
	static uint64_t generation, count, low, high;
	const uint64_t was[4] = { 4, 1, 101, 102 };

	begin(fences);
	weak_store(&generation, 0, __ATOMIC_SEQ_CST);
	weak_fence(__ATOMIC_RELEASE);
	weak_store(&low, 301, __ATOMIC_RELAXED);
	weak_store(&high, 302, __ATOMIC_RELAXED);
	weak_store(&generation, 5, __ATOMIC_SEQ_CST);
	read_words(&generation, &count, &low, &high, was);
	explore(0);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(bool fences);
	} tried[] = {
		{ "ranges of stacks", publish_stacks },
		{ "a directory of rules", publish_directory },
		{ "places of rules", start_over },
	};
	int failed = 0;

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		tried[i].run(true);
		printf("%s: %lu orders, misled in %lu\n", tried[i].name, orders, misled);
		failed += misled != 0 || orders == 0;
		tried[i].run(false);
		printf("%s, without fences: misled in %lu\n", tried[i].name, misled);
		failed += misled == 0;
	}
	return failed != 0;
}
