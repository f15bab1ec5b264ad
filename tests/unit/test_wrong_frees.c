/* SPDX-License-Identifier: MIT */
/* test_wrong_frees.c - which frees are wrong, which are not, and how it is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/live/free_places.h"
#include "tests/unit/live_books.h"

struct fixture {
	enum wrong_free_reason place;	/* what the places say of any address */
	uint64_t places_asked;
};
static struct fixture fixture;

static enum wrong_free_reason place(void *context, const struct event *event)
{
	struct fixture *f = context;

	(void)event;
	f->places_asked++;
	return f->place;
}

static int set_up(void **state)
{
	fixture = (struct fixture){ .place = WRONG_FREE_NOT };
	*state = &fixture;
	return books_begin(place, &fixture);
}

/* ---- double frees ---- */

static void tells_all_three_calls(void **state)
{
	const struct wrong_free *wrong;

	(void)state;
	alloc(1, 0x1000, 48, 7);	/* at 1001, by the first thread seen */
	release(2, 0x1000, 8);
	release(1, 0x1000, 9);
	assert_int_equal(wrong_count(), 1);
	wrong = wrong_at(0);
	assert_int_equal(wrong->reason, WRONG_FREE_AGAIN);
	assert_int_equal(wrong_free_kind(wrong->reason), WRONG_FREE_DOUBLE);
	assert_int_equal(wrong->address, 0x1000);
	assert_int_equal(wrong->entry, GLIBC);
	assert_false(wrong->realloc);
	assert_int_equal(wrong->block.address, 0x1000);
	assert_int_equal(wrong->block.size, 48);
	assert_int_equal(wrong->block.born, 1001);
	assert_int_equal(wrong->block.thread, 0);
	assert_int_equal(sites_peek(books.sites, wrong->block.site)->stack, 7);
	assert_int_equal(wrong->block.freed.stack, 8);
	assert_int_equal(wrong->block.freed.time, 1002);
	assert_int_equal(wrong->block.freed.thread, 1);
	assert_int_equal(wrong->by.stack, 9);
	assert_int_equal(wrong->by.time, 1003);
	assert_int_equal(wrong->by.thread, 0);
	assert_int_equal(sites_oddities(books.sites)->double_free, 1);
}

static void counts_alike_ones_as_one(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 5; i++) {
		alloc(1, i * 0x1000, 48, 7);
		release(1, i * 0x1000, 8);
		release(1, i * 0x1000, 9);
	}
	alloc(1, 0x9000, 48, 7);
	release(1, 0x9000, 8);
	release(1, 0x9000, 10);	/* from elsewhere */
	assert_int_equal(wrong_count(), 2);
	assert_int_equal(wrong_at(0)->count, 5);
	assert_int_equal(wrong_at(0)->address, 0x1000);
	assert_int_equal(wrong_at(1)->count, 1);
}

static void knows_a_block_from_before_the_attach_once_freed(void **state)
{
	(void)state;
	release(1, 0x1000, 8);
	assert_int_equal(wrong_count(), 0);
	release(1, 0x1000, 9);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_AGAIN);
	assert_int_equal(wrong_at(0)->block.site, 0);
	assert_int_equal(wrong_at(0)->block.freed.stack, 8);
}

static void judges_a_realloc_when_it_is_announced(void **state)
{
	(void)state;
	alloc(1, 0x1000, 48, 7);
	release(1, 0x1000, 8);
	realloc_begin(1, 0x1000, 9);	/* and the allocator aborts */
	live_finish(books.live);
	assert_int_equal(wrong_count(), 1);
	assert_true(wrong_at(0)->realloc);
	assert_int_equal(wrong_at(0)->by.stack, 9);
	assert_int_equal(sites_oddities(books.sites)->free_unknown, 0);
}

static void the_new_block_of_a_wrong_realloc_lives(void **state)
{
	(void)state;
	alloc(1, 0x1000, 48, 7);
	release(1, 0x1000, 8);
	realloc_begin(1, 0x1000, 9);
	realloc_done(1, 0x1000, 0x1000, 60);
	assert_int_equal(live_count(books.live), 1);
	release(1, 0x1000, 8);
	assert_int_equal(wrong_count(), 1);
	assert_int_equal(live_count(books.live), 0);
}

static void remembers_what_is_not_used_again(void **state)
{
	(void)state;
	alloc(1, 0x10, 8, 7);
	release(1, 0x10, 8);
	for (uint64_t i = 0; i < 2 * FREED_MAX; i++) {
		alloc(1, 0x1000 + i % 64 * 16, 8, 7);
		release(1, 0x1000 + i % 64 * 16, 8);
	}
	release(1, 0x10, 9);
	assert_int_equal(wrong_count(), 1);
}

static void forgets_the_oldest(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= FREED_MAX + 10; i++)
		release(1, i * 16, 8);
	release(1, 16, 9);		/* forgotten: may be older than the attach */
	assert_int_equal(wrong_count(), 0);
	release(1, 16 * 12, 9);		/* the oldest that is left */
	assert_int_equal(wrong_count(), 1);
}

/* ---- illegal ones ---- */

static void finds_the_block_around(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		alloc(1, 0x100000 + i * 0x10000, 0x8000, 7);
	release(1, 0x100010, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_INSIDE);
	assert_int_equal(wrong_at(0)->block.address, 0x100000);
	release(1, 0x150000 + 0x7ff0, 9);	/* far behind its beginning */
	assert_int_equal(wrong_at(1)->block.address, 0x150000);
	assert_int_equal(wrong_at(1)->block.size, 0x8000);
	release(1, 0x150000 + 0x8010, 9);	/* behind its end */
	alloc(1, 0x50000, 0x40, 7);
	release(1, 0x50050, 9);			/* close behind */
	assert_int_equal(wrong_count(), 2);
	release(1, 0x50040, 10);		/* in what glibc added to it */
	assert_int_equal(wrong_at(2)->block.address, 0x50000);
	assert_int_equal(sites_oddities(books.sites)->illegal_free, 3);
	assert_int_equal(live_count(books.live), 101);
}

/* Searches through all blocks end when they have cost too much, and are earned again. */
static void searches_are_paid_for(void **state)
{
	uint64_t searched = 0;

	(void)state;
	for (uint64_t i = 1; i <= 100000; i++)
		alloc(1, 0x100000000 + i * 0x1000, 0x800, 7);
	for (uint32_t i = 0; i < 2000; i++) {
		release(1, 0x100000000 + 0x1000 + 0x400, 8);
		searched = wrong_at(0)->count;
	}
	assert_true(searched > 100);
	assert_true(searched < 500);
}

static void minds_the_alignment_of_the_allocator(void **state)
{
	(void)state;
	release(1, 0x7008, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_MISALIGNED);
	/* jemalloc has blocks of 8 bytes */
	apply((struct event){ .kind = RING_FREE, .address = 0x8008, .thread = 1 }, 8);
	assert_int_equal(wrong_count(), 1);
	apply((struct event){ .kind = RING_FREE, .address = 0x8004, .thread = 1 }, 8);
	assert_int_equal(wrong_count(), 2);
}

static void believes_modules_and_stacks_for_glibc_only(void **state)
{
	(void)state;
	fixture.place = WRONG_FREE_STATIC;
	apply((struct event){ .kind = RING_FREE, .address = 0x8000, .thread = 1 }, 8);
	assert_int_equal(wrong_count(), 0);
	release(1, 0x9000, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_STATIC);
	alloc(1, 0xa000, 10, 7);	/* what was seen allocated is not asked about */
	release(1, 0xa000, 8);
	assert_int_equal(fixture.places_asked, 2);
	fixture.place = WRONG_FREE_UNMAPPED;	/* no allocator's blocks are there */
	apply((struct event){ .kind = RING_FREE, .address = 0xb000, .thread = 1 }, 9);
	assert_int_equal(wrong_at(1)->reason, WRONG_FREE_UNMAPPED);
}

/* A program that was just being started: no call was under way, and no block is older. */
static void doubts_nothing_from_the_start(void **state)
{
	(void)state;
	live_free(books.live);
	books.options.settle_ticks = 3000;
	books.options.from_start = true;
	assert_int_equal(live_new(&books.options, books.sites, &books.live), 0);
	alloc(1, 0x1000, 48, 7);
	release(1, 0x1000, 8);
	release(2, 0x1000, 9);		/* the first thing that its thread does */
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_AGAIN);
	fixture.place = WRONG_FREE_STATIC;
	apply((struct event){ .kind = RING_FREE, .address = 0x8000, .thread = 1 }, 8);
	assert_int_equal(wrong_at(1)->reason, WRONG_FREE_STATIC);
}

/* A heap that grew before our eyes: whatever maps say, what is in no block there is free. */
static void knows_memory_of_the_allocator(void **state)
{
	const struct frame_range code = { .module = 1, .low = 0x100, .high = 0x200 };
	const struct frame frame = { .module = 1, .offset = 0x150 };
	uint32_t stack;

	(void)state;
	assert_int_equal(sites_set_allocator_frames(books.sites, &code, 1), 0);
	assert_int_equal(stacks_intern(books.stacks, &frame, 1, 0, &stack), 0);
	apply((struct event){ .kind = RING_BRK, .address = 0x121000, .size = 0x100000,
			      .thread = 1 }, stack);
	fixture.place = WRONG_FREE_UNMAPPED;	/* by maps from before */
	release(1, 0x110000, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_FREE);
	assert_int_equal(wrong_at(0)->block.address, 0);
	fixture.place = WRONG_FREE_NOT;		/* it may be that of a call from before the hooks */
	release(1, 0x110010, 9);
	assert_int_equal(wrong_count(), 1);
	apply((struct event){ .kind = RING_BRK, .address = 0x110000, .size = 0x121000,
			      .thread = 1 }, stack);
	fixture.place = WRONG_FREE_UNMAPPED;	/* trimmed */
	release(1, 0x118000, 8);
	assert_int_equal(wrong_at(1)->reason, WRONG_FREE_UNMAPPED);
}

/* A thread that was made before our eyes, by maps from before that. */
static void knows_the_stack_of_a_new_thread(void **state)
{
	(void)state;
	apply((struct event){ .kind = RING_MAP, .address = 0x100000, .size = 0x801000,
			      .thread = 1 }, 5);
	fixture.place = WRONG_FREE_UNMAPPED;
	apply((struct event){ .kind = RING_FREE, .address = 0x8ff000, .stack_address = 0x8fe000,
			      .thread = 0x900700, .entry = GLIBC }, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_STACK);
	assert_int_equal(wrong_at(0)->block.address, 0);
	apply((struct event){ .kind = RING_FREE, .address = 0x8fd000, .stack_address = 0x8fe000,
			      .thread = 0x900700, .entry = GLIBC }, 8);	/* below its sp */
	assert_int_equal(wrong_at(1)->reason, WRONG_FREE_MAPPED);
}

static void names_the_mapping(void **state)
{
	(void)state;
	apply((struct event){ .kind = RING_MAP, .address = 0x100000, .size = 0x4000,
			      .thread = 1 }, 5);
	fixture.place = WRONG_FREE_UNMAPPED;	/* by maps from before */
	release(1, 0x101000, 8);
	assert_int_equal(wrong_at(0)->reason, WRONG_FREE_MAPPED);
	assert_int_equal(wrong_at(0)->block.address, 0x100000);
	assert_int_equal(sites_peek(books.sites, wrong_at(0)->block.site)->stack, 5);
	fixture.place = WRONG_FREE_NOT;		/* older memory was there, too */
	release(1, 0x102000, 8);
	assert_int_equal(wrong_at(0)->count, 2);
	fixture.place = WRONG_FREE_STACK;	/* the program made a thread */
	release(1, 0x103000, 8);
	assert_int_equal(wrong_at(1)->reason, WRONG_FREE_STACK);
	fixture.place = WRONG_FREE_NOT;
	release(1, 0x104000, 8);
	assert_int_equal(wrong_count(), 2);
}

/* ---- what is not wrong ---- */

static void reuse_is_not_wrong(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		alloc(1, 0x1000, 48, 7);
		release(2, 0x1000, 8);
	}
	realloc_begin(1, 0x5000, 8);	/* older than the attach */
	alloc(2, 0x5000, 16, 7);	/* its address is given away before the move is told */
	realloc_done(1, 0x5000, 0x6000, 99);
	release(2, 0x5000, 8);
	release(1, 0x6000, 8);
	realloc_begin(1, 0x7000, 8);
	realloc_done(1, 0x7000, 0x7000, 5);	/* in place */
	release(1, 0x7000, 8);
	assert_int_equal(wrong_count(), 0);
	assert_int_equal(live_count(books.live), 0);
	assert_int_equal(sites_oddities(books.sites)->missed_free, 0);
}

/* A thread's call that began before the hooks returns what another has freed: not recorded. */
static void calls_from_before_are_waited_for(void **state)
{
	(void)state;
	live_free(books.live);
	books.options.settle_ticks = 3000;
	assert_int_equal(live_new(&books.options, books.sites, &books.live), 0);
	release(1, 0x1000, 8);
	release(2, 0x1000, 9);		/* by the thread that got it, the first thing it does */
	assert_int_equal(wrong_count(), 0);
	release(1, 0x1000, 10);
	assert_int_equal(wrong_count(), 1);
	release(1, 0x2000, 8);
	release(2, 0x2000, 9);		/* was at work before */
	assert_int_equal(wrong_count(), 2);
	books.now += 1000;		/* time enough */
	release(1, 0x3000, 8);
	release(3, 0x3000, 11);
	assert_int_equal(wrong_count(), 3);
}

static void a_loss_ends_all_verdicts(void **state)
{
	(void)state;
	alloc(1, 0x1000, 48, 7);
	release(1, 0x1000, 8);
	release(1, 0x1000, 9);
	books.lost = 1;
	release(1, 0x1000, 10);
	release(1, 0x1003, 10);
	assert_int_equal(wrong_count(), 1);	/* what was found stays */
	assert_false(live_tells_frees(books.live));
	books.lost = 0;
	release(1, 0x1000, 10);
	assert_int_equal(wrong_count(), 1);
}

static void wants_whole_stacks_of_suspects_only(void **state)
{
	struct event event = { .kind = RING_FREE, .address = 0x1000, .stack_bytes = 64 };

	(void)state;
	assert_true(live_wants_free_stack(books.live, &event));
	alloc(1, 0x1000, 48, 7);
	assert_false(live_wants_free_stack(books.live, &event));
	release(1, 0x1000, 8);
	assert_true(live_wants_free_stack(books.live, &event));
	event.stack_bytes = 0;
	assert_false(live_wants_free_stack(books.live, &event));
}

static void has_room_for_so_many_kinds(void **state)
{
	struct wrong_frees *wrong;
	size_t count;

	(void)state;
	assert_int_equal(wrong_frees_new(&wrong), 0);
	for (uint32_t i = 0; i < WRONG_FREES_MAX + 3; i++)
		wrong_frees_add(wrong, &(struct wrong_free){ .reason = WRONG_FREE_AGAIN,
							     .by.stack = i });
	wrong_frees_add(wrong, &(struct wrong_free){ .reason = WRONG_FREE_AGAIN, .by.stack = 2 });
	assert_int_equal(wrong_frees_all(wrong, &count)[2].count, 2);
	assert_int_equal(count, WRONG_FREES_MAX);
	assert_int_equal(wrong_frees_left_out(wrong), 3);
	wrong_frees_free(wrong);
}

/* ---- the pool of freed blocks, against a model ---- */

static void pool_agrees_with_a_model(void **state)
{
	enum { ADDRESSES = 300 };
	uint32_t index[ADDRESSES], count = 0;
	struct freed *freed;
	uint64_t evicted;

	(void)state;
	srandom(5);
	memset(index, 0xff, sizeof(index));
	assert_int_equal(freed_new(&freed), 0);
	for (int step = 0; step < 100000; step++) {
		uint32_t i = (uint32_t)random() % ADDRESSES;

		if (index[i] == FREED_NONE) {
			index[i] = freed_add(freed, &(struct freed_block){ .address = i + 1 },
					     &evicted);
			assert_int_equal(evicted, 0);
			count++;
		} else {
			assert_int_equal(freed_get(freed, index[i])->address, i + 1);
			freed_remove(freed, index[i]);
			index[i] = FREED_NONE;
			count--;
		}
		assert_int_equal(freed_count(freed), count);
	}
	freed_free(freed);
}

/* ---- places, in this very process ---- */

static char in_bss[4096];

static int open_file(void *context, const struct procmap *map)
{
	int fd = open(map->path, O_RDONLY | O_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

static void read_maps(struct target_view *view)
{
	_cleanup_fd_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	procmaps_done(&view->maps);
	assert_int_equal(procmaps_read(fd, &view->maps), 0);
	assert_true(modules_update(view->modules, &view->maps) >= 0);
}

static enum wrong_free_reason judge(struct free_places *places, const void *address,
				    uint64_t stack, uint64_t thread)
{
	return free_places_judge(places, &(struct event){
		.kind = RING_FREE, .address = (uint64_t)(uintptr_t)address,
		.stack_address = stack, .thread = thread });
}

struct elsewhere {
	struct target_view *view;
	struct free_places *places;
};

/* In a thread: its own stack, as its own and as another thread's free. */
static void *judge_in_thread(void *argument)
{
	struct elsewhere *elsewhere = argument;
	uint64_t bytes[64], below = (uint64_t)(uintptr_t)__builtin_frame_address(0) - 2048;
	uint64_t thread = (uint64_t)pthread_self();

	read_maps(elsewhere->view);
	free_places_note(elsewhere->places);	/* there since the attach */
	assert_int_equal(judge(elsewhere->places, bytes, below, thread), WRONG_FREE_STACK);
	assert_int_equal(judge(elsewhere->places, bytes, 0, 0), WRONG_FREE_NOT);
	return NULL;
}

static void places_of_this_process(void **state)
{
	const size_t bytes = 1 << 16;
	struct module_source source = { .open_file = open_file };
	struct target_view view = { .mem = -1 };
	struct free_places *places;
	char local[64];
	void *heap = malloc(100), *older, *newer;
	pthread_t thread;

	(void)state;
	assert_int_equal(modules_new(&source, &view.modules), 0);
	assert_int_equal(free_places_new(&view, &places), 0);
	older = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_maps(&view);
	assert_int_equal(judge(places, (void *)0x7000, 0, 0), WRONG_FREE_NOT);	/* not noted */
	free_places_note(places);
	assert_int_equal(judge(places, heap, 0, 0), WRONG_FREE_NOT);
	assert_int_equal(judge(places, older, 0, 0), WRONG_FREE_NOT);
	assert_int_equal(judge(places, local, 0, 0), WRONG_FREE_STACK);
	assert_int_equal(judge(places, in_bss + 2048, 0, 0), WRONG_FREE_STATIC);
	assert_int_equal(judge(places, (void *)(uintptr_t)set_up, 0, 0), WRONG_FREE_STATIC);
	assert_int_equal(judge(places, (void *)0x7000, 0, 0), WRONG_FREE_UNMAPPED);
	/* A mapping of its own: a hole around it, so that it does not join an older one. */
	newer = mmap((void *)0x100000000000, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(judge(places, newer, 0, 0), WRONG_FREE_UNMAPPED);
	read_maps(&view);
	assert_int_equal(judge(places, newer, 0, 0), WRONG_FREE_MAPPED);
	free_places_note(places);	/* by a call that began before the attach */
	assert_int_equal(judge(places, newer, 0, 0), WRONG_FREE_NOT);
	assert_int_equal(pthread_create(&thread, NULL, judge_in_thread,
					&(struct elsewhere){ &view, places }), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	munmap(older, bytes);
	munmap(newer, bytes);
	free(heap);
	free_places_free(places);
	procmaps_done(&view.maps);
	modules_free(view.modules);
}

/* What the thread that frees may call its stack: guard, sp, address, TCB, end, in this order. */
static void believes_one_shape_of_stack(void **state)
{
	static const char text[] =
		"100000-101000 ---p 00000000 00:00 0 \n"
		"101000-901000 rw-p 00000000 00:00 0 \n"	/* with a guard */
		"9f0000-a00000 r--p 00000000 00:00 0 \n"
		"a00000-b00000 rw-p 00000000 00:00 0 \n"	/* without */
		"c00000-c01000 ---p 00000000 00:00 0 \n"
		"c02000-d00000 rw-p 00000000 00:00 0 \n";	/* a hole below */
	struct module_source source = { .open_file = NULL };
	struct target_view view = { .mem = -1 };
	struct free_places *places;

	(void)state;
	assert_int_equal(modules_new(&source, &view.modules), 0);
	assert_int_equal(procmaps_parse(text, sizeof(text) - 1, &view.maps), 0);
	assert_int_equal(free_places_new(&view, &places), 0);
	free_places_note(places);
#define JUDGE(address, sp, thread) judge(places, (void *)(address), sp, thread)
	assert_int_equal(JUDGE(0x8f0000, 0x8e0000, 0x900700), WRONG_FREE_STACK);
	assert_int_equal(JUDGE(0x8d0000, 0x8e0000, 0x900700), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x8f0000, 0x0a0000, 0x900700), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x900800, 0x8e0000, 0x900700), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x4f0000, 0x4e0000, 0x500700), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0xaf0000, 0xae0000, 0xaff700), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0xcf0000, 0xce0000, 0xcff700), WRONG_FREE_NOT);
#undef JUDGE
	free_places_free(places);
	procmaps_done(&view.maps);
	modules_free(view.modules);
}

/* What was there at the attach and is unmapped holds no older block any more. */
static void follows_unmappings(void **state)
{
	static const char text[] =
		"100000-200000 rw-p 00000000 00:00 0 \n"
		"300000-400000 rw-p 00000000 00:00 0 \n"
		"7ff000-800000 rw-p 00000000 00:00 0 [stack]\n";
	struct module_source source = { .open_file = NULL };
	struct target_view view = { .mem = -1 };
	const char *stack = strstr(text, "7ff000");
	struct free_places *places;

	(void)state;
	assert_int_equal(modules_new(&source, &view.modules), 0);
	assert_int_equal(procmaps_parse(text, sizeof(text) - 1, &view.maps), 0);
	assert_int_equal(free_places_new(&view, &places), 0);
	free_places_note(places);
	procmaps_done(&view.maps);
	assert_int_equal(procmaps_parse(stack, strlen(stack), &view.maps), 0);
#define JUDGE(address) judge(places, (void *)(address), 0, 0)
	free_places_unmap(places, 0x140000, 0x180000);	/* in the midst of one */
	assert_int_equal(JUDGE(0x13fff0), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x140000), WRONG_FREE_UNMAPPED);
	assert_int_equal(JUDGE(0x17fff0), WRONG_FREE_UNMAPPED);
	assert_int_equal(JUDGE(0x180000), WRONG_FREE_NOT);
	free_places_unmap(places, 0x1f0000, 0x310000);	/* of two */
	assert_int_equal(JUDGE(0x1efff0), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x1f0000), WRONG_FREE_UNMAPPED);
	assert_int_equal(JUDGE(0x30fff0), WRONG_FREE_UNMAPPED);
	assert_int_equal(JUDGE(0x310000), WRONG_FREE_NOT);
	free_places_unmap_failed(places, 0x1f0000, 0x310000);
	assert_int_equal(JUDGE(0x1f0000), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x30fff0), WRONG_FREE_NOT);
	assert_int_equal(JUDGE(0x3ffff0), WRONG_FREE_NOT);
	free_places_unmap(places, 0, 0x700000);		/* all of it */
	assert_int_equal(JUDGE(0x100000), WRONG_FREE_UNMAPPED);
	assert_int_equal(JUDGE(0x3ffff0), WRONG_FREE_UNMAPPED);
	/* what maps still show is gone, until they are read again */
	assert_int_equal(JUDGE(0x7ff000), WRONG_FREE_STACK);
	free_places_unmap(places, 0x7ff000, 0x800000);
	assert_int_equal(JUDGE(0x7ff000), WRONG_FREE_UNMAPPED);
	free_places_unmap_failed(places, 0x7ff000, 0x800000);
	assert_int_equal(JUDGE(0x7ff000), WRONG_FREE_STACK);
	free_places_unmap(places, 0x7ff000, 0x800000);
	view.reads++;
	assert_int_equal(JUDGE(0x7ff000), WRONG_FREE_STACK);
	for (uint64_t i = 1; i <= 1000; i++)
		free_places_unmap(places, i << 32, (i << 32) + 0x1000);
	assert_int_equal(JUDGE(1000ull << 32), WRONG_FREE_UNMAPPED);
#undef JUDGE
	/* the main thread's stack has grown since maps were read */
	assert_int_equal(judge(places, (void *)0x7e0000, 0x7d0000, 0), WRONG_FREE_STACK);
	assert_int_equal(judge(places, (void *)0x7c0000, 0x7d0000, 0), WRONG_FREE_UNMAPPED);
	free_places_free(places);
	procmaps_done(&view.maps);
	modules_free(view.modules);
}

int main(void)
{
#define WITH_BOOKS(test) cmocka_unit_test_setup_teardown(test, set_up, books_end)
	const struct CMUnitTest tests[] = {
		WITH_BOOKS(tells_all_three_calls),
		WITH_BOOKS(counts_alike_ones_as_one),
		WITH_BOOKS(knows_a_block_from_before_the_attach_once_freed),
		WITH_BOOKS(judges_a_realloc_when_it_is_announced),
		WITH_BOOKS(the_new_block_of_a_wrong_realloc_lives),
		WITH_BOOKS(remembers_what_is_not_used_again),
		WITH_BOOKS(forgets_the_oldest),
		WITH_BOOKS(finds_the_block_around),
		WITH_BOOKS(searches_are_paid_for),
		WITH_BOOKS(minds_the_alignment_of_the_allocator),
		WITH_BOOKS(believes_modules_and_stacks_for_glibc_only),
		WITH_BOOKS(doubts_nothing_from_the_start),
		WITH_BOOKS(knows_memory_of_the_allocator),
		WITH_BOOKS(knows_the_stack_of_a_new_thread),
		WITH_BOOKS(names_the_mapping),
		WITH_BOOKS(reuse_is_not_wrong),
		WITH_BOOKS(calls_from_before_are_waited_for),
		WITH_BOOKS(a_loss_ends_all_verdicts),
		WITH_BOOKS(wants_whole_stacks_of_suspects_only),
		cmocka_unit_test(has_room_for_so_many_kinds),
		cmocka_unit_test(pool_agrees_with_a_model),
		cmocka_unit_test(places_of_this_process),
		cmocka_unit_test(believes_one_shape_of_stack),
		cmocka_unit_test(follows_unmappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
