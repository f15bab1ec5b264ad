/* SPDX-License-Identifier: MIT */
/*
 * test_leak_heap_musl.c - live blocks of musl's mallocng: of a modelled heap, whole and damaged,
 * and of real programs, linked with musl's libc both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/unit/leak_musl_model.h"
#include "tests/unit/leak_picture.h"
#include "tests/unit/leak_victim.h"

struct walk {
	struct heap heap;
	struct heap_result result;
	const struct block *expected;	/* ascending */
	size_t expected_count, seen, extra;
};

static int setup(void **state)
{
	struct musl_model *m = calloc(1, sizeof(*m));

	*state = m;
	return m ? 0 : -1;
}

static int teardown(void **state)
{
	struct musl_model *m = *state;

	if (m->memory > 0)
		close(m->memory);
	free(m);
	return 0;
}

static void walk(struct walk *w, const struct picture *picture, const struct modules *modules)
{
	*w = (struct walk){ .seen = 0 };
	assert_int_equal(blocks_new(&w->heap.blocks), 0);
	assert_int_equal(heap_walk_musl(picture, modules, &w->heap, &w->result), 0);
	ranges_normalize(&w->heap.own);
}

static void walk_done(struct walk *w)
{
	heap_done(&w->heap);
	blocks_free(w->heap.blocks);
}

/* Walks the model as its places are now. */
static void walk_model(struct walk *w, struct musl_model *m)
{
	assert_int_equal(musl_model_open(m), 0);
	walk(w, &m->picture, m->modules);
	musl_model_close(m);
}

static int by_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Both ascend. */
static int compare(void *context, const struct block *found)
{
	struct walk *w = context;

	if (w->seen < w->expected_count && w->expected[w->seen].address < found->address)
		fail_msg("%" PRIx64 " was not found", w->expected[w->seen].address);
	if (w->seen == w->expected_count || w->expected[w->seen].address != found->address) {
		w->extra++;
		return 0;
	}
	assert_int_equal(w->expected[w->seen].bytes, found->bytes);
	w->seen++;
	return 0;
}

/* The walk has found exactly these, and extra others. */
static void check_blocks(struct walk *w, struct block *expected, size_t count, size_t extra)
{
	if (w->result.why[0])
		print_message("%s\n", w->result.why);
	assert_int_equal(w->result.cover, HEAP_COVERED);
	qsort(expected, count, sizeof(*expected), by_address);
	w->expected = expected;
	w->expected_count = count;
	blocks_each(w->heap.blocks, compare, w);
	assert_int_equal(w->seen, count);
	assert_int_equal(w->extra, extra);
	assert_int_equal(w->result.live_count, blocks_count(w->heap.blocks));
	assert_int_equal(w->result.live_bytes, blocks_bytes(w->heap.blocks));
}

static void finds_all_blocks(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	musl_model_build(m);
	walk_model(&w, m);
	check_blocks(&w, m->live, m->live_count, 0);
	assert_int_equal(w.result.free_count, m->free_count);
	assert_int_equal(w.result.mmapped, 2);
	assert_string_equal(w.result.version, "1.2.3");
	walk_done(&w);
}

static void keeps_own_structures_apart(void **state)
{
	const uint64_t context_end = MUSL_MODEL_CONTEXT + sizeof(struct musl_model_context);
	struct musl_model *m = *state;
	const struct ranges *segments;
	struct walk w;

	musl_model_build(m);
	walk_model(&w, m);
	assert_true(ranges_contain(&w.heap.own, MUSL_MODEL_CONTEXT));
	assert_true(ranges_contain(&w.heap.own, context_end - 1));
	assert_false(ranges_contain(&w.heap.own, MUSL_MODEL_CONTEXT - 8));
	assert_false(ranges_contain(&w.heap.own, context_end));
	assert_true(ranges_contain(&w.heap.own, MUSL_MODEL_AREA));
	assert_true(ranges_contain(&w.heap.own, MUSL_MODEL_AREA + 0x1fff));
	segments = blocks_segments(w.heap.blocks);
	assert_true(ranges_contain(segments, MUSL_MODEL_SLOTS));
	assert_true(ranges_contain(segments, MUSL_MODEL_FAR + MUSL_MODEL_FAR_BYTES - 1));
	assert_true(ranges_contain(segments, MUSL_MODEL_DONATED));
	assert_false(ranges_contain(segments, MUSL_MODEL_DONATED - 1));
	assert_false(ranges_contain(segments, MUSL_MODEL_DONATED + 16 + 128));
	walk_done(&w);
}

/* --- damage ----------------------------------------------------------------------- */

static uint64_t *of_meta(struct musl_model *m, enum musl_model_group group, size_t offset)
{
	return (void *)((uint8_t *)m->meta[group] + offset);
}

static void secret(struct musl_model *m) { m->area[1].check++; }
static void next_area(struct musl_model *m) { m->area[0].next += 4096; }
static void slot_count(struct musl_model *m) { m->area[1].nslots = 102; }
static void handed_out(struct musl_model *m) { musl_model_context(m)->avail_meta_count--; }
static void class_count(struct musl_model *m) { musl_model_context(m)->usage_by_class[3]--; }
static void no_group_yet(struct musl_model *m) { *of_meta(m, MUSL_MODEL_M_NESTED, 16) = 0; }
static void moved_mapping(struct musl_model *m) { *of_meta(m, MUSL_MODEL_M_ALONE, 16) += 0x900000; }
static void same_group(struct musl_model *m)
{
	*of_meta(m, MUSL_MODEL_M_ALONE, 16) = MUSL_MODEL_FAR;
}
static void no_such_class(struct musl_model *m) { m->meta[MUSL_MODEL_M_SINGLE]->sizeclass = 48; }
static void many_alone(struct musl_model *m) { m->meta[MUSL_MODEL_M_ALONE]->last_idx = 1; }
static void too_short(struct musl_model *m) { m->meta[MUSL_MODEL_M_SLOTS]->maplen = 3; }
static void too_long(struct musl_model *m) { m->meta[MUSL_MODEL_M_ALONE]->maplen += 0x100; }
static void endless(struct musl_model *m) { m->meta[MUSL_MODEL_M_FAR]->maplen = ~0ull >> 12; }
static void both_masks(struct musl_model *m) { m->meta[MUSL_MODEL_M_SLOTS]->avail_mask |= 1u << 4; }
static void beyond(struct musl_model *m) { m->meta[MUSL_MODEL_M_SINGLE]->freed_mask |= 2; }
static void no_meta(struct musl_model *m) { *musl_model_byte(m, MUSL_MODEL_SINGLE, 1) ^= 40; }
static void slot_freed(struct musl_model *m) { m->meta[MUSL_MODEL_M_SLOTS]->freed_mask |= 2; }
static void no_nested(struct musl_model *m)
{
	*musl_model_byte(m, MUSL_MODEL_SLOTS + 16 - 3, 1) |= 6 << 5;
}

/* One change, as a thread in the middle of malloc or an overflow leaves it. */
static const struct {
	const char *what;
	void (*damage)(struct musl_model *m);
} damages[] = {
	{ "a page of metas without the secret", secret },
	{ "a page of metas that leads nowhere", next_area },
	{ "a page of metas of another size", slot_count },
	{ "a meta that is handed out by half", handed_out },
	{ "a group that is not counted", class_count },
	{ "a meta without its group", no_group_yet },
	{ "a mapping that has moved away", moved_mapping },
	{ "two metas of one group", same_group },
	{ "a class that is none", no_such_class },
	{ "a mapping of its own for two", many_alone },
	{ "a mapping too short", too_short },
	{ "a mapping too long", too_long },
	{ "a mapping without end", endless },
	{ "a slot that is free twice", both_masks },
	{ "a free slot that is none", beyond },
	{ "a group of another meta", no_meta },
	{ "a group in a free slot", slot_freed },
	{ "a slot that holds no group", no_nested },
};

static void check_nothing(struct walk *w, const char *what, enum heap_cover cover)
{
	if (w->result.cover != cover)
		fail_msg("%s: %d %s", what, w->result.cover, w->result.why);
	assert_int_equal(blocks_count(w->heap.blocks), 0);
	assert_int_equal(blocks_segments(w->heap.blocks)->count, 0);
	assert_int_equal(w->heap.own.count, 0);
	assert_true(cover == HEAP_ABSENT || w->result.why[0] != '\0');
	walk_done(w);
}

/* A thread in malloc, one that waits for the lock, one that is elsewhere. */
static void tells_torn_from_broken(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		for (int in = 0; in < 3; in++) {
			musl_model_build(m);
			damages[i].damage(m);
			m->orig_rax = in == 0 ? UINT64_MAX : in == 1 ? SYS_futex : SYS_pause;
			walk_model(&w, m);
			check_nothing(&w, damages[i].what,
				      in < 2 ? HEAP_TORN : HEAP_NOT_COVERED);
		}
	}
	musl_model_build(m);
	m->meta[MUSL_MODEL_M_SLOTS]->freed_mask |= 2;
	m->orig_rax = UINT64_MAX;
	m->rip = MUSL_MODEL_SLOTS;
	walk_model(&w, m);
	check_nothing(&w, "a thread that is not in libc", HEAP_NOT_COVERED);
}

/* A page of metas that leads to itself. */
static void ends_in_cycles(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	musl_model_build(m);
	m->area[0].next = MUSL_MODEL_AREA;
	walk_model(&w, m);
	check_nothing(&w, "a cycle", HEAP_NOT_COVERED);
	memset(m->area[0].slot, 0, sizeof(m->area[0].slot));
	walk_model(&w, m);
	check_nothing(&w, "a cycle of free metas", HEAP_NOT_COVERED);
}

/* Slots that are taken but not filled yet, or whose block is gone and they are not yet given up. */
static void bears_slots_halfway(void **state)
{
	struct musl_model *m = *state;
	struct block expected[MUSL_MODEL_LIVE];
	struct walk w;

	musl_model_build(m);
	/* as free leaves it */
	*musl_model_byte(m, m->live[0].address - 3, 1) = 255;
	/* never used before */
	m->meta[MUSL_MODEL_M_SLOTS]->freed_mask &= ~(1u << 9);
	walk_model(&w, m);
	memcpy(expected, m->live, sizeof(expected));
	check_blocks(&w, expected + 1, m->live_count - 1, 0);
	assert_int_equal(w.result.free_count, m->free_count + 1);
	walk_done(&w);
}

/* A new slot that a thread is about to fill looks like a block: the thread's hand tells. */
static void tells_slots_that_are_about_to_be(void **state)
{
	struct musl_model *m = *state;
	struct block expected[MUSL_MODEL_LIVE];
	struct walk w;

	for (int at_hand = 0; at_hand < 2; at_hand++) {
		musl_model_build(m);
		m->orig_rax = SYS_futex;
		m->rdx = MUSL_MODEL_AREA + 24 + (at_hand ? 97u : 99u) * 40;
		walk_model(&w, m);
		memcpy(expected, m->live, sizeof(expected));
		/* the first that was made is in such a slot */
		check_blocks(&w, expected + at_hand, m->live_count - (size_t)at_hand, 0);
		walk_done(&w);
	}
}

/* What a block's overflow destroys first: how long the block is. */
static void bears_overflows(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	musl_model_build(m);
	for (size_t i = 0; i < m->live_count; i++) {
		struct block *block = &m->live[i];
		uint64_t end = MUSL_MODEL_SLOTS + 16 + 3 * 1008 - 4;

		if (block->address != MUSL_MODEL_SLOTS + 16 + 2 * 1008 + 9 * 16)
			continue;
		memset(musl_model_byte(m, end - 5, 5), 0x41, 5);
		block->bytes = end - block->address;
	}
	walk_model(&w, m);
	check_blocks(&w, m->live, m->live_count, 0);
	walk_done(&w);
}

/* Bytes changed at random never make it crash, or claim what is not there. */
static void stands_any_change(void **state)
{
	struct musl_model *m = *state;
	uint64_t random = 88172645463325252u;
	size_t covered = 0;
	struct walk w;

	for (unsigned int i = 0; i < 3000; i++) {
		musl_model_build(m);
		for (unsigned int k = 0; k <= i % 3; k++) {
			const struct musl_model_place *place;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			place = &musl_model_places[random % 4];
			((uint8_t *)m + place->offset)[(random >> 8) % place->bytes % 0x7000] ^=
				(uint8_t)(random >> 40);
		}
		walk_model(&w, m);
		covered += w.result.cover == HEAP_COVERED;
		if (w.result.cover != HEAP_COVERED)
			assert_int_equal(blocks_count(w.heap.blocks) + w.heap.own.count, 0);
		else
			assert_int_equal(blocks_count(w.heap.blocks), w.result.live_count);
		walk_done(&w);
	}
	assert_in_range(covered, 100, 2990);
}

static void tells_what_it_can_not_walk(void **state)
{
	struct musl_model *m = *state;
	uint64_t bin[5] = { 0, MUSL_MODEL_CONTEXT - 16, MUSL_MODEL_CONTEXT - 16, 0, 0 };
	struct walk w;

	/* Nothing was ever allocated. */
	musl_model_build(m);
	memset(m->libc + 0x2000, 0, 0x6000);
	walk_model(&w, m);
	check_nothing(&w, "none", HEAP_ABSENT);
	/* A bin of the old allocator. */
	memcpy(musl_model_byte(m, MUSL_MODEL_CONTEXT - 8, sizeof(bin)), bin, sizeof(bin));
	walk_model(&w, m);
	assert_string_equal(w.result.version, "before 1.2.1");
	check_nothing(&w, "an old one", HEAP_NOT_COVERED);
	/* glibc's have no locks between them. */
	bin[3] = bin[4] = MUSL_MODEL_CONTEXT;
	memcpy(musl_model_byte(m, MUSL_MODEL_CONTEXT - 8, sizeof(bin)), bin, sizeof(bin));
	walk_model(&w, m);
	check_nothing(&w, "another's bin", HEAP_ABSENT);
}

/* --- programs ---------------------------------------------------------------------- */

struct program {
	pid_t pid, target;
	struct block *block;
	size_t count, room;
};

static void take_line(struct program *p, const char *line)
{
	struct block block;
	int pid;

	if (sscanf(line, "process %d", &pid) == 1)
		p->target = pid;
	if (sscanf(line, "BLOCK %" SCNu64 " %" SCNu64, &block.address, &block.bytes) != 2)
		return;
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 4096;
		p->block = reallocarray(p->block, p->room, sizeof(*p->block));
		assert_non_null(p->block);
	}
	block.bytes += block.bytes == 0;
	p->block[p->count++] = block;
}

/* Runs it until it stands still, and takes what it says of its blocks. */
static void start(struct program *p, const char *path, const char *scenario)
{
	char line[128] = "";
	FILE *output;
	int ends[2];

	*p = (struct program){ 0 };
	assert_int_equal(pipe(ends), 0);
	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		execl(path, path, scenario, NULL);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	while (output && fgets(line, sizeof(line), output) && strcmp(line, "ready\n") != 0)
		take_line(p, line);
	assert_string_equal(line, "ready\n");
	fclose(output);
}

static void check_program(const char *path, const char *scenario, bool is_static)
{
	struct module_source source = { .open_file = victim_open_file };
	struct picture_thread thread[16] = { 0 };
	struct modules *modules;
	struct picture picture;
	struct program p;
	struct walk w;

	start(&p, path, scenario);
	assert_int_equal(leak_picture_of(p.target, thread,
					 victim_stop(p.target, thread, ARRAY_SIZE(thread)),
					 &picture), 0);
	assert_int_equal(modules_new(&source, &modules), 0);
	assert_int_equal(modules_update(modules, &picture.maps), 1);
	walk(&w, &picture, modules);
	/* The dynamic loader's: the program, what it depends on, and their order. */
	assert_string_equal(w.result.version, is_static ? "1.2.1 or later" : w.result.version);
	check_blocks(&w, p.block, p.count, is_static ? 0 : (size_t)(w.result.live_count - p.count));
	assert_in_range(w.result.live_count - p.count, 0, 8);
	print_message("%s %s: %zu blocks\n", w.result.version, scenario, p.count);
	walk_done(&w);
	modules_free(modules);
	picture_done(&picture);
	free(p.block);
	kill(p.target, SIGKILL);
	kill(p.pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

static void check_linked(const char *name, const char *more, bool is_static)
{
	static const char *const scenario[] = { "single", "mix", "mapped" };
	char flags[512];
	const char *path;

	snprintf(flags, sizeof(flags), "-O2 -DLEAK_HEAP_PLAIN '-Dmallopt(option,value)=0' "
		 "'-Dmalloc_trim(pad)=0' %s", more);
	path = victim_compile(name, "MUSL_GCC", "musl-gcc", flags, "leak_heap.c");
	if (!path) {
		print_message("musl-gcc is not installed\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenario); i++)
		check_program(path, scenario[i], is_static);
}

static void finds_blocks_of_programs(void **state)
{
	(void)state;
	check_linked("dynamic", "", false);
}

static void finds_blocks_of_static_programs(void **state)
{
	(void)state;
	check_linked("static", "-static", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_all_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_own_structures_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_torn_from_broken, setup, teardown),
		cmocka_unit_test_setup_teardown(ends_in_cycles, setup, teardown),
		cmocka_unit_test_setup_teardown(bears_slots_halfway, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_slots_that_are_about_to_be, setup, teardown),
		cmocka_unit_test_setup_teardown(bears_overflows, setup, teardown),
		cmocka_unit_test_setup_teardown(stands_any_change, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_what_it_can_not_walk, setup, teardown),
		cmocka_unit_test(finds_blocks_of_programs),
		cmocka_unit_test(finds_blocks_of_static_programs),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	victim_clean();
	return failed;
}
