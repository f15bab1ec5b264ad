/* SPDX-License-Identifier: MIT */
/*
 * test_leak_heap_glibc.c - live blocks of glibc's heap: of modelled versions, and of this program.
 *
 * Real libcs of other versions, and exact agreement for whole programs, are tests/leak's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include "src/base/sanitized.h"
#include "tests/unit/leak_glibc_model.h"
#include "tests/unit/leak_heap_walk.h"
#include "tests/unit/leak_picture.h"

static int setup(void **state)
{
	return walk_setup(state, sizeof(struct model));
}

static void finds_blocks_of_all_versions(void **state)
{
	struct model *m = *state;

	for (size_t i = 0; i < MODEL_VERSIONS; i++) {
		unsigned int first, last;
		struct walk w;

		model_build(m, &model_versions[i]);
		walk_lab(&w, heap_walk_glibc, &m->lab);
		if (w.result.cover != HEAP_COVERED)
			print_message("2.%u\n", m->version->minor);
		walk_check_truth(&w, &m->lab);
		assert_int_equal(w.result.arenas, 2);
		assert_int_equal(w.result.mmapped, 2);
		assert_true(sscanf(w.result.version, "2.%u", &first) == 1 &&
			    first <= m->version->minor);
		if (sscanf(w.result.version, "2.%*u-2.%u", &last) == 1)
			assert_true(last >= m->version->minor);
		walk_done(&w);
	}
}

static void check_sum(const struct heap_sum *sum, uint64_t count, uint64_t bytes)
{
	assert_int_equal(sum->count, count);
	assert_int_equal(sum->bytes, bytes);
	assert_int_equal(sum->resident, 0);	/* nobody said what is */
}

/* What is in the model's arenas, in the lists that it put it in. */
static void tells_where_memory_went(void **state)
{
	struct model *m = *state;

	for (size_t i = 0; i < MODEL_VERSIONS; i++) {
		const struct model_version *v = &model_versions[i];
		const struct heap_figures *f;
		struct walk w;

		model_build(m, v);
		walk_lab(&w, heap_walk_glibc, &m->lab);
		f = w.heap.figures;
		assert_int_equal(f->arena_count, 2);
		assert_int_equal(f->arena[0].address, MODEL_MAIN);
		assert_int_equal(f->arena[1].address, MODEL_ARENA + v->heap_info);
		for (unsigned int a = 0; a < 2; a++) {
			const struct heap_sum *part = f->arena[a].part;

			assert_int_equal(f->arena[a].system_bytes, MODEL_HEAP_BYTES);
			assert_int_equal(f->arena[a].max_system_bytes, MODEL_HEAP_BYTES);
			assert_int_equal(f->arena[a].attached, v->attached ? 1 : HEAP_UNKNOWN);
			assert_int_equal(f->arena[a].stretches, 1);
			assert_int_equal(part[HEAP_TOP].count, 1);
			check_sum(&part[HEAP_SMALL], 0, 0);
			check_sum(&part[HEAP_LARGE], 0, 0);
			check_sum(&part[HEAP_UNSORTED], 2, a ? 0x5050 : 0x4c0);
			check_sum(&part[HEAP_TCACHE], !a && v->tcache_chunk ? 2 : 0,
				  !a && v->tcache_chunk ? 0xa0 : 0);
			check_sum(&part[HEAP_FAST], !a && v->fast ? 3 : 0,
				  !a && v->fast ? 0xc0 : 0);
		}
		check_sum(&f->heap[0].mapped, 2, 0x44000);
		assert_int_equal(f->thread_count, v->tcache_chunk ? 1 : 0);
		if (f->thread_count) {
			assert_int_equal(f->thread[0].arena, MODEL_MAIN);
			assert_int_equal(f->thread[0].tcache, MODEL_HEAP + 16);
			check_sum(&f->thread[0].cached, 2, 0xa0);
		}
		walk_done(&w);
	}
}

/* Chunks that lie in bins of their own; some pages of theirs are not in memory. */
static void tells_bins_and_what_is_resident(void **state)
{
	struct range present[] = { { MODEL_HEAP, MODEL_HEAP + MODEL_HEAP_BYTES },
				   { MODEL_ARENA, MODEL_ARENA + 0x3000 } };
	const struct ranges ranges = { ARRAY_SIZE(present), ARRAY_SIZE(present), present };
	struct model *m = *state;
	const struct model_version *v = &model_versions[7];
	uint64_t arena = MODEL_ARENA + v->heap_info, unsorted = arena + v->bins - 16;
	uint64_t large, bin = unsorted + 16 * 114;	/* of 0x5000 bytes */
	struct walk w;
	const struct heap_figures *f;

	/* Out of the unsorted list, into its bin. */
	model_build(m, v);
	large = lab_get(&m->lab, unsorted + 16);
	lab_put(&m->lab, unsorted + 16, lab_get(&m->lab, large + 16));
	lab_put(&m->lab, lab_get(&m->lab, large + 16) + 24, unsorted);
	lab_put(&m->lab, bin + 16, large);
	lab_put(&m->lab, bin + 24, large);
	lab_put(&m->lab, large + 16, bin);
	lab_put(&m->lab, large + 24, bin);
	walk_lab_with(&w, heap_walk_glibc, &m->lab, &ranges);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	f = w.heap.figures;
	assert_int_equal(f->arena[1].part[HEAP_LARGE].bytes, 0x5000);
	assert_int_equal(f->arena[1].part[HEAP_LARGE].resident, MODEL_ARENA + 0x3000 - large);
	assert_int_equal(f->arena[1].part[HEAP_UNSORTED].count, 1);
	assert_int_equal(f->arena[1].resident, 0x3000);
	assert_int_equal(f->arena[1].trimmable, 0x1000);
	assert_int_equal(f->arena[0].resident, MODEL_HEAP_BYTES);
	assert_int_equal(f->bin[f->bin_count - 1].part, HEAP_LARGE);
	assert_int_equal(f->bin[f->bin_count - 1].low, 0x5000);
	walk_done(&w);
}

/* What the model has in its main heap has never been there. */
static void empty_main(struct model *m)
{
	const struct model_version *v = m->version;
	size_t kept = 0;

	memset(m->heap, 0, sizeof(m->heap));
	for (uint64_t i = 0; i < 127; i++) {
		uint64_t head = MODEL_MAIN + v->bins + 16 * i;

		lab_put(&m->lab, head, head - 16);
		lab_put(&m->lab, head + 8, head - 16);
	}
	for (uint64_t i = 0; v->fast && i < 10; i++)
		lab_put(&m->lab, MODEL_MAIN + v->fast + 8 * i, 0);
	lab_put(&m->lab, MODEL_MAIN + v->top, MODEL_MAIN + v->bins - 16);
	lab_put(&m->lab, MODEL_MAIN + v->system_mem, 0);
	lab_put(&m->lab, MODEL_MAIN + v->system_mem + 8, 0);
	lab_put(&m->lab, MODEL_FS - 0x60, 0);
	lab_put(&m->lab, MODEL_PAR_AT + v->sbrk_base, 0);
	for (size_t i = 0; i < m->lab.live_count; i++) {
		if (m->lab.live[i].address - MODEL_HEAP >= MODEL_HEAP_BYTES)
			m->lab.live[kept++] = m->lab.live[i];
	}
	m->lab.live_count = kept;
	m->lab.free_count = 2;	/* the other arena's */
}

/* Every block of the first thread has a mapping of its own: mp_ is told by its numbers alone. */
static void finds_blocks_beside_an_empty_main_arena(void **state)
{
	struct model *m = *state;

	for (size_t i = 0; i < MODEL_VERSIONS; i++) {
		struct walk w;

		model_build(m, &model_versions[i]);
		empty_main(m);
		walk_lab(&w, heap_walk_glibc, &m->lab);
		if (w.result.cover != HEAP_COVERED)
			print_message("2.%u: %s\n", m->version->minor, w.result.why);
		walk_check_truth(&w, &m->lab);
		assert_int_equal(w.result.mmapped, 2);
		walk_done(&w);
	}
}

/* A thread has counted the one block off, but not given it back; the other is as large. */
static void tells_a_mapping_that_goes(void **state)
{
	struct model *m = *state;

	for (int inside = 0; inside <= 1; inside++) {
		struct walk w;

		model_build(m, &model_versions[7]);
		lab_put_some(&m->lab, MODEL_PAR_AT + m->version->n_mmaps, 1, 4);
		lab_put(&m->lab, MODEL_PAR_AT + m->version->mmapped_mem, 0x23000);
		m->lab.registers.rip = MODEL_LIBC + 0x1000;
		m->lab.registers.orig_rax = inside ? SYS_munmap : SYS_read;
		walk_lab(&w, heap_walk_glibc, &m->lab);
		if (inside)
			walk_check_nothing(&w, "a mapping that goes", HEAP_TORN);
		else
			assert_int_equal(w.result.cover, HEAP_COVERED);
		walk_done(&w);
	}
}

static void keeps_own_structures_apart(void **state)
{
	struct model *m = *state;
	const struct model_version *v = &model_versions[7];
	const struct ranges *segments;
	struct walk w;

	model_build(m, v);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_true(ranges_contain(&w.heap.own, MODEL_MAIN));
	assert_true(ranges_contain(&w.heap.own, MODEL_MAIN + v->state_bytes - 1));
	assert_false(ranges_contain(&w.heap.own, MODEL_MAIN + v->state_bytes));
	assert_false(ranges_contain(&w.heap.own, MODEL_MAIN - 8));
	assert_true(ranges_contain(&w.heap.own, MODEL_PAR_AT + v->sbrk_base));
	assert_false(ranges_contain(&w.heap.own, MODEL_PAR_AT + v->sbrk_base + 8));
	assert_true(ranges_contain(&w.heap.own, MODEL_ARENA));
	assert_true(ranges_contain(&w.heap.own, MODEL_ARENA + v->heap_info + v->state_bytes - 1));
	assert_true(ranges_contain(&w.heap.own, MODEL_HEAP + 16));	/* the tcache */
	segments = blocks_segments(w.heap.blocks);
	assert_true(ranges_contain(segments, MODEL_HEAP));
	assert_true(ranges_contain(segments, MODEL_HEAP + MODEL_HEAP_BYTES - 1));
	assert_false(ranges_contain(segments, MODEL_ARENA));
	assert_true(ranges_contain(segments, MODEL_ARENA + MODEL_HEAP_BYTES - 1));
	assert_true(ranges_contain(segments, MODEL_MAPPED));
	assert_false(ranges_contain(segments, MODEL_MAPPED + 0x23000));	/* left by memalign */
	walk_done(&w);
}

/* One word of the model, changed to what a thread in the middle of malloc or an overflow leaves. */
static const struct damage {
	const char *what;
	uint64_t (*where)(const struct model *m);
	uint64_t change;	/* xored */
} damages[];

static uint64_t first_live(const struct model *m)
{
	return m->lab.live[0].address - 8;
}

static uint64_t last_live(const struct model *m)
{
	return m->lab.live[m->lab.live_count - 3].address - 8;
}

static uint64_t main_bin(const struct model *m)
{
	return MODEL_MAIN + m->version->bins;
}

static uint64_t other_bin_back(const struct model *m)
{
	return MODEL_ARENA + m->version->heap_info + m->version->bins + 8;
}

static uint64_t main_total(const struct model *m)
{
	return MODEL_MAIN + m->version->system_mem;
}

static uint64_t other_total(const struct model *m)
{
	return MODEL_ARENA + m->version->heap_info + m->version->system_mem;
}

static uint64_t heap_bytes(const struct model *m)
{
	(void)m;
	return MODEL_ARENA + 16;
}

static uint64_t main_top(const struct model *m)
{
	return MODEL_MAIN + m->version->top;
}

static uint64_t mapped_count(const struct model *m)
{
	return MODEL_PAR_AT + m->version->n_mmaps;
}

static uint64_t mapped_total(const struct model *m)
{
	return MODEL_PAR_AT + m->version->mmapped_mem;
}

static uint64_t fastbin(const struct model *m)
{
	return MODEL_MAIN + m->version->fast + 16;
}

static uint64_t tcache_pointer(const struct model *m)
{
	(void)m;
	return MODEL_FS - 0x60;
}

static const struct damage damages[] = {
	{ "a size of a block", first_live, 0x40 },
	{ "a size of nothing", first_live, 0x20 },
	{ "a block with the mark of mappings", first_live, 2 },
	{ "a block with the mark of another arena", first_live, 4 },
	{ "a block of the other arena without it", last_live, 4 },
	{ "a bin that leads to another place", main_bin, 0x20 },
	{ "a bin that is only half unlinked", other_bin_back, 0x50 },
	{ "a total that has grown already", main_total, 0x1000 },
	{ "a total that has grown already", other_total, 0x1000 },
	{ "a heap that has grown already", heap_bytes, 0x1000 },
	{ "a top that has moved already", main_top, 0x40 },
	{ "a mapping that is not counted yet", mapped_count, 3 },
	{ "a mapping whose size is not counted yet", mapped_total, 0x4000 },
	{ "a fastbin that leads to another block", fastbin, 0x80 },
};

static void tells_torn_heaps(void **state)
{
	struct model *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		uint64_t where;
		struct walk w;

		model_build(m, &model_versions[5]);
		where = damages[i].where(m);
		lab_put(&m->lab, where, lab_get(&m->lab, where) ^ damages[i].change);
		/* A thread holds the lock. */
		lab_put_some(&m->lab, MODEL_MAIN, 1, 4);
		walk_lab(&w, heap_walk_glibc, &m->lab);
		walk_check_nothing(&w, damages[i].what, HEAP_TORN);
		walk_done(&w);
	}
}

/* Nobody is in malloc, so another picture would be the same. */
static void tells_broken_from_torn(void **state)
{
	struct model *m = *state;
	struct walk w;

	model_build(m, &model_versions[5]);
	lab_put(&m->lab, first_live(m), 0x1235);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	assert_int_equal(blocks_count(w.heap.blocks), 0);
	walk_done(&w);
}

static void believes_locked_heaps_that_are_whole(void **state)
{
	struct model *m = *state;
	struct walk w;

	model_build(m, &model_versions[7]);
	lab_put_some(&m->lab, MODEL_MAIN, 2, 4);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	assert_int_equal(blocks_count(w.heap.blocks), m->lab.live_count);
	walk_done(&w);
}

static void takes_a_list_that_is_one_ahead_of_its_count(void **state)
{
	struct model *m = *state;
	struct walk w;

	for (int counted = 1; counted <= 3; counted++) {
		model_build(m, &model_versions[7]);
		*lab_byte(&m->lab, lab_get(&m->lab, tcache_pointer(m)) + 6, 1) = (uint8_t)counted;
		walk_lab(&w, heap_walk_glibc, &m->lab);
		assert_int_equal(w.result.cover, HEAP_COVERED);
		assert_int_equal(w.result.free_count, m->lab.free_count);
		walk_done(&w);
	}
}

/* A thread that is gone, as in a forked child. */
static void finds_the_tcache_of_nobody(void **state)
{
	struct model *m = *state;
	struct walk w;

	model_build(m, &model_versions[7]);
	lab_put(&m->lab, tcache_pointer(m), 0);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	assert_int_equal(w.result.free_count, m->lab.free_count);
	assert_int_equal(blocks_count(w.heap.blocks), m->lab.live_count);
	walk_done(&w);
}

static void ends_in_cycles(void **state)
{
	struct model *m = *state;
	uint64_t first;
	struct walk w;

	/* A fastbin whose first block follows itself. */
	model_build(m, &model_versions[5]);
	first = lab_get(&m->lab, fastbin(m));
	lab_put(&m->lab, first + 16, first);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	walk_done(&w);
	/* A ring of arenas that does not come back. */
	model_build(m, &model_versions[5]);
	lab_put(&m->lab, MODEL_ARENA + m->version->heap_info + m->version->next,
		  MODEL_ARENA + m->version->heap_info);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	walk_done(&w);
	/* One that leads to what is no arena. */
	model_build(m, &model_versions[5]);
	lab_put(&m->lab, MODEL_ARENA, MODEL_ARENA);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	walk_done(&w);
	/* A heap that is its own predecessor. */
	model_build(m, &model_versions[5]);
	lab_put(&m->lab, MODEL_ARENA + 8, MODEL_ARENA);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	walk_done(&w);
}

static void says_that_it_is_absent(void **state)
{
	struct model *m = *state;
	struct walk w;

	model_build(m, &model_versions[7]);
	memset(m->libc + 0x2000, 0, MODEL_LIBC_BYTES - 0x2000);
	walk_lab(&w, heap_walk_glibc, &m->lab);
	assert_int_equal(w.result.cover, HEAP_ABSENT);
	assert_int_equal(blocks_count(w.heap.blocks), 0);
	walk_done(&w);
}

/* This program's own heap: what these threads have allocated, in five arenas. */
#define THREADS	8
#define MINE	500

static void *kept[THREADS][MINE], *given[THREADS][MINE];
static pthread_barrier_t beginning, meeting;

static void *allocate(void *index)
{
	void **keep = kept[(uintptr_t)index], **give = given[(uintptr_t)index];

	/* A thread that came later would have its cache where another has freed a block. */
	free(malloc(1));
	pthread_barrier_wait(&beginning);
	for (unsigned int i = 0; i < MINE; i++) {
		keep[i] = i % 9 ? malloc(1 + i * 7) : memalign((size_t)32 << i % 12, 100 + i * 900);
		give[i] = malloc(1 + i * 3);
		if (i % 5 == 0)
			keep[i] = realloc(keep[i], 10 + i * 400);
	}
	for (unsigned int i = 0; i < MINE; i++)
		free(give[i]);
	pthread_barrier_wait(&meeting);
	/* Until the picture is taken. */
	pthread_barrier_wait(&meeting);
	return NULL;
}

static bool is_kept(const void *p)
{
	for (unsigned int i = 0; i < THREADS * MINE; i++) {
		if (kept[i / MINE][i % MINE] == p)
			return true;
	}
	return false;
}

static void check_thread(const struct walk *w, unsigned int thread)
{
	struct block found;

	for (unsigned int i = 0; i < MINE; i++) {
		assert_true(blocks_find(w->heap.blocks, (uintptr_t)kept[thread][i], &found));
		assert_int_equal(found.address, (uintptr_t)kept[thread][i]);
		assert_int_equal(found.bytes, malloc_usable_size(kept[thread][i]));
		/* Unless another thread of the same arena has it now. */
		if (blocks_find(w->heap.blocks, (uintptr_t)given[thread][i], &found) &&
		    found.address == (uintptr_t)given[thread][i])
			assert_true(is_kept(given[thread][i]));
	}
}

static void finds_its_own_blocks(void **state)
{
	struct module_source source = { lab_open_file, lab_read_memory, NULL };
	pthread_t threads[THREADS];
	struct modules *modules;
	struct picture picture;
	struct walk w;
	pid_t child;

	(void)state;
	/* Its malloc isn't glibc's. */
	if (MEMATTACH_SANITIZED)
		skip();
	mallopt(M_ARENA_MAX, 5);
	pthread_barrier_init(&beginning, NULL, THREADS);
	pthread_barrier_init(&meeting, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate, (void *)i), 0);
	pthread_barrier_wait(&meeting);
	child = leak_picture_fork(&picture);
	source.context = &picture;
	assert_int_equal(modules_new(&source, &modules), 0);
	assert_true(modules_update(modules, &picture.maps) >= 0);
	walk_picture(&w, heap_walk_glibc, &picture, modules);
	if (w.result.why[0])
		print_message("%s\n", w.result.why);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	assert_int_equal(w.result.live_count, blocks_count(w.heap.blocks));
	assert_int_equal(w.result.arenas, 5);
	for (unsigned int i = 0; i < THREADS; i++)
		check_thread(&w, i);
	walk_done(&w);
	modules_free(modules);
	leak_picture_end(child, &picture);
	pthread_barrier_wait(&meeting);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Whoever is in realloc, or in what it has called, may hide blocks; in a system call nobody is. */
static void tells_a_thread_in_realloc(void **state)
{
	static uint64_t stack[64];
	const uint64_t inside = (uintptr_t)dlsym(RTLD_DEFAULT, "realloc") + 4;
	const uint64_t beside = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc") + 4;
	const uint64_t far = (uintptr_t)dlsym(RTLD_DEFAULT, "strtol") + 4;
	const struct {
		uint64_t rip;
		long call;
		uint64_t depth;		/* of the return address on the stack */
		enum heap_cover cover;
	} cases[] = {
		{ inside, -1, 64, HEAP_TORN },	  { inside, SYS_read, 64, HEAP_COVERED },
		{ beside, -1, 64, HEAP_COVERED }, { beside, -1, 9, HEAP_TORN },
		{ beside, -1, 60, HEAP_COVERED }, { beside, SYS_read, 9, HEAP_COVERED },
		{ far, -1, 9, HEAP_COVERED },
	};
	struct module_source source = { lab_open_file, lab_read_memory, NULL };

	(void)state;
	/* Its malloc isn't glibc's. */
	if (MEMATTACH_SANITIZED)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct modules *modules;
		struct picture picture;
		struct walk w;
		pid_t child;

		memset(stack, 0, sizeof(stack));
		if (cases[i].depth < ARRAY_SIZE(stack))
			stack[cases[i].depth] = inside;
		child = leak_picture_fork(&picture);
		source.context = &picture;
		picture.thread[0].registers.rip = cases[i].rip;
		picture.thread[0].registers.orig_rax = (unsigned long long)cases[i].call;
		picture.thread[0].registers.rsp = (uintptr_t)stack;
		assert_int_equal(modules_new(&source, &modules), 0);
		assert_true(modules_update(modules, &picture.maps) >= 0);
		walk_picture(&w, heap_walk_glibc, &picture, modules);
		if (w.result.cover != cases[i].cover)
			fail_msg("case %zu: %d %s", i, w.result.cover, w.result.why);
		walk_done(&w);
		modules_free(modules);
		leak_picture_end(child, &picture);
	}
}

/* Words on the stack of a thread; its registers. */
enum { AT_CHUNK = 10, AT_CONTEXT = 300, CONTEXT_REGISTER = 5, CONTEXT_RSP = 20, CONTEXT_RIP = 21,
       CONTEXT_CS = 23 };

struct hand_case {
	uint64_t rip;
	uint64_t depth;		/* of a return address into free on the stack, 0: none */
	uint64_t chunk;		/* where the chunk is: in rbx (0), on the stack, in a context */
	uint64_t context;	/* rip in a context on the stack, 0: there is none */
	bool held;
};

static void check_hand(const struct hand_case *c, const struct picture *picture,
		       const struct modules *modules, uint64_t block)
{
	size_t held = 0;
	struct walk w;

	walk_picture(&w, heap_walk_glibc, picture, modules);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	for (size_t i = 0; i < w.heap.held_count; i++) {
		assert_int_equal(w.heap.held[i].tid, picture->thread[0].tid);
		held += w.heap.held[i].address == block;
	}
	if ((held > 0) != c->held)
		fail_msg("rip %#lx, depth %lu, chunk %lu, context %#lx: held %zu", c->rip,
			 c->depth, c->chunk, c->context, held);
	walk_done(&w);
}

static void stand_with_hand(const struct hand_case *c, uint64_t *stack, uint64_t inside,
			    uint64_t chunk, struct user_regs_struct *r)
{
	*r = (struct user_regs_struct){ .rip = c->rip, .rsp = (uintptr_t)stack };
	r->orig_rax = c->depth ? SYS_futex : (unsigned long long)-1;	/* it may wait for a lock */
	if (c->depth)
		stack[c->depth] = inside;
	if (c->context) {
		stack[AT_CONTEXT + CONTEXT_RIP] = c->context;
		stack[AT_CONTEXT + CONTEXT_RSP] = (uintptr_t)(stack + 400);
		stack[AT_CONTEXT + CONTEXT_CS] = 0x33;
	}
	if (c->chunk)
		stack[c->chunk] = chunk;
	else
		r->rbx = chunk;
}

/* free knows a block by its chunk: who is in it, how far up the stack, not who is elsewhere. */
static void tells_what_free_has_in_hand(void **state)
{
	static uint64_t stack[512];
	static char *block;
	const uint64_t inside = (uintptr_t)dlsym(RTLD_DEFAULT, "free") + 4;
	const uint64_t far = (uintptr_t)dlsym(RTLD_DEFAULT, "strtol") + 4;
	const uint64_t outside = (uintptr_t)tells_what_free_has_in_hand;
	const struct hand_case cases[] = {
		{ inside, 0, 0, 0, true },	     { far, 0, 0, 0, false },
		{ outside, 0, 0, 0, false },	     { far, 3, 0, 0, true },
		{ far, 3, AT_CHUNK, 0, true },	     { far, 100, AT_CHUNK, 0, false },
		{ outside, 3, AT_CHUNK, 0, false },  { inside, 0, AT_CHUNK, 0, true },
		{ inside, 0, 200, 0, false },	     { inside, 100, 125, 0, true },
		{ outside, 0, AT_CONTEXT + CONTEXT_REGISTER, inside, true },
		{ outside, 0, AT_CONTEXT + CONTEXT_REGISTER, far, false },
		{ outside, 0, 400 + AT_CHUNK, inside, true },
		{ outside, 0, 400 + AT_CHUNK, outside, false },
	};
	struct module_source source = { lab_open_file, lab_read_memory, NULL };

	(void)state;
	if (MEMATTACH_SANITIZED)
		skip();
	block = malloc(3000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct user_regs_struct registers;
		struct modules *modules;
		struct picture picture;
		pid_t child;

		memset(stack, 0, sizeof(stack));
		stand_with_hand(&cases[i], stack, inside, (uintptr_t)block - 16, &registers);
		child = leak_picture_fork(&picture);
		source.context = &picture;
		registers.fs_base = picture.thread[0].registers.fs_base;
		picture.thread[0].registers = registers;
		assert_int_equal(modules_new(&source, &modules), 0);
		assert_true(modules_update(modules, &picture.maps) >= 0);
		check_hand(&cases[i], &picture, modules, (uintptr_t)block);
		modules_free(modules);
		leak_picture_end(child, &picture);
	}
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_blocks_of_all_versions),
		cmocka_unit_test(tells_where_memory_went),
		cmocka_unit_test(tells_bins_and_what_is_resident),
		cmocka_unit_test(finds_blocks_beside_an_empty_main_arena),
		cmocka_unit_test(tells_a_mapping_that_goes),
		cmocka_unit_test(keeps_own_structures_apart),
		cmocka_unit_test(tells_torn_heaps),
		cmocka_unit_test(tells_broken_from_torn),
		cmocka_unit_test(believes_locked_heaps_that_are_whole),
		cmocka_unit_test(takes_a_list_that_is_one_ahead_of_its_count),
		cmocka_unit_test(finds_the_tcache_of_nobody),
		cmocka_unit_test(ends_in_cycles),
		cmocka_unit_test(says_that_it_is_absent),
		cmocka_unit_test(finds_its_own_blocks),
		cmocka_unit_test(tells_a_thread_in_realloc),
		cmocka_unit_test(tells_what_free_has_in_hand),
	};

	return cmocka_run_group_tests(tests, setup, walk_teardown);
}
