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

#include "tests/unit/leak_heap_walk.h"
#include "tests/unit/leak_musl_model.h"
#include "tests/unit/leak_picture.h"
#include "tests/unit/leak_victim.h"

static int setup(void **state)
{
	return walk_setup(state, sizeof(struct musl_model));
}

/* Walks the model as its areas are now. */
static void walk_model(struct walk *w, struct musl_model *m)
{
	walk_lab(w, heap_walk_musl, &m->lab);
}

struct comparison {
	const struct block *expected;	/* ascending */
	size_t expected_count, seen, extra;
};

static int by_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Both ascend. */
static int compare(void *context, const struct block *found)
{
	struct comparison *c = context;

	if (c->seen < c->expected_count && c->expected[c->seen].address < found->address)
		fail_msg("%" PRIx64 " was not found", c->expected[c->seen].address);
	if (c->seen == c->expected_count || c->expected[c->seen].address != found->address) {
		c->extra++;
		return 0;
	}
	assert_int_equal(c->expected[c->seen].bytes, found->bytes);
	c->seen++;
	return 0;
}

/* The walk has found exactly these, and extra others. */
static void check_blocks(const struct walk *w, struct block *expected, size_t count, size_t extra)
{
	struct comparison c = { .expected = expected, .expected_count = count };

	if (w->result.why[0])
		print_message("%s\n", w->result.why);
	assert_int_equal(w->result.cover, HEAP_COVERED);
	qsort(expected, count, sizeof(*expected), by_address);
	blocks_each(w->heap.blocks, compare, &c);
	assert_int_equal(c.seen, count);
	assert_int_equal(c.extra, extra);
	assert_int_equal(w->result.live_count, blocks_count(w->heap.blocks));
	assert_int_equal(w->result.live_bytes, blocks_bytes(w->heap.blocks));
}

static void finds_all_blocks(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	musl_model_build(m);
	walk_model(&w, m);
	walk_check_truth(&w, &m->lab);
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
static void no_meta(struct musl_model *m) { *lab_byte(&m->lab, MUSL_MODEL_SINGLE, 1) ^= 40; }
static void slot_freed(struct musl_model *m) { m->meta[MUSL_MODEL_M_SLOTS]->freed_mask |= 2; }
static void no_nested(struct musl_model *m)
{
	*lab_byte(&m->lab, MUSL_MODEL_SLOTS + 16 - 3, 1) |= 6 << 5;
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
	walk_check_nothing(w, what, cover);
	assert_int_equal(blocks_segments(w->heap.blocks)->count, 0);
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
			m->lab.registers.orig_rax = in == 0 ? UINT64_MAX :
						    in == 1 ? SYS_futex : SYS_pause;
			walk_model(&w, m);
			check_nothing(&w, damages[i].what,
				      in < 2 ? HEAP_TORN : HEAP_NOT_COVERED);
		}
	}
	musl_model_build(m);
	m->meta[MUSL_MODEL_M_SLOTS]->freed_mask |= 2;
	m->lab.registers.orig_rax = UINT64_MAX;
	m->lab.registers.rip = MUSL_MODEL_SLOTS;
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
	struct block expected[LAB_LIVE];
	struct walk w;

	musl_model_build(m);
	/* as free leaves it */
	*lab_byte(&m->lab, m->lab.live[0].address - 3, 1) = 255;
	/* never used before */
	m->meta[MUSL_MODEL_M_SLOTS]->freed_mask &= ~(1u << 9);
	walk_model(&w, m);
	memcpy(expected, m->lab.live, sizeof(expected));
	check_blocks(&w, expected + 1, m->lab.live_count - 1, 0);
	assert_int_equal(w.result.free_count, m->lab.free_count + 1);
	walk_done(&w);
}

/* A new slot that a thread is about to fill looks like a block: the thread's hand tells. */
static void tells_slots_that_are_about_to_be(void **state)
{
	struct musl_model *m = *state;
	struct block expected[LAB_LIVE];
	struct walk w;

	for (int at_hand = 0; at_hand < 2; at_hand++) {
		musl_model_build(m);
		m->lab.registers.orig_rax = SYS_futex;
		m->lab.registers.rdx = MUSL_MODEL_AREA + 24 + (at_hand ? 97u : 99u) * 40;
		walk_model(&w, m);
		memcpy(expected, m->lab.live, sizeof(expected));
		/* the first that was made is in such a slot */
		check_blocks(&w, expected + at_hand, m->lab.live_count - (size_t)at_hand, 0);
		walk_done(&w);
	}
}

/* What a block's overflow destroys first: how long the block is. */
static void bears_overflows(void **state)
{
	struct musl_model *m = *state;
	struct walk w;

	musl_model_build(m);
	for (size_t i = 0; i < m->lab.live_count; i++) {
		struct block *block = &m->lab.live[i];
		uint64_t end = MUSL_MODEL_SLOTS + 16 + 3 * 1008 - 4;

		if (block->address != MUSL_MODEL_SLOTS + 16 + 2 * 1008 + 9 * 16)
			continue;
		memset(lab_byte(&m->lab, end - 5, 5), 0x41, 5);
		block->bytes = end - block->address;
	}
	walk_model(&w, m);
	check_blocks(&w, m->lab.live, m->lab.live_count, 0);
	walk_done(&w);
}

/* Bytes changed at random never make it crash, or claim what is not there. */
static void stands_any_change(void **state)
{
	struct musl_model *m = *state;
	uint64_t random = LAB_RANDOM;
	size_t covered = 0;
	struct walk w;

	for (unsigned int i = 0; i < 3000; i++) {
		musl_model_build(m);
		for (unsigned int k = 0; k <= i % 3; k++) {
			uint64_t drawn = lab_draw(&random);
			const struct lab_area *area = &m->lab.area[drawn % 4];

			((uint8_t *)m + area->offset)[(drawn >> 8) % area->bytes % 0x7000] ^=
				(uint8_t)(drawn >> 40);
		}
		walk_model(&w, m);
		covered += w.result.cover == HEAP_COVERED;
		walk_check_sound(&w);
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
	memcpy(lab_byte(&m->lab, MUSL_MODEL_CONTEXT - 8, sizeof(bin)), bin, sizeof(bin));
	walk_model(&w, m);
	assert_string_equal(w.result.version, "before 1.2.1");
	check_nothing(&w, "an old one", HEAP_NOT_COVERED);
	/* glibc's have no locks between them. */
	bin[3] = bin[4] = MUSL_MODEL_CONTEXT;
	memcpy(lab_byte(&m->lab, MUSL_MODEL_CONTEXT - 8, sizeof(bin)), bin, sizeof(bin));
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
	walk_picture(&w, heap_walk_musl, &picture, modules);
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
		cmocka_unit_test_setup_teardown(finds_all_blocks, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(keeps_own_structures_apart, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(tells_torn_from_broken, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(ends_in_cycles, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(bears_slots_halfway, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(tells_slots_that_are_about_to_be, setup,
						walk_teardown),
		cmocka_unit_test_setup_teardown(bears_overflows, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(stands_any_change, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(tells_what_it_can_not_walk, setup, walk_teardown),
		cmocka_unit_test(finds_blocks_of_programs),
		cmocka_unit_test(finds_blocks_of_static_programs),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	victim_clean();
	return failed;
}
