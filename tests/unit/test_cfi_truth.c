/* SPDX-License-Identifier: MIT */
/*
 * test_cfi_truth.c - compiled rules say what libdw and the unwinder say, and the unwinder says
 * the same with what it has kept.
 *
 * Over the ELF files that processes of this machine have mapped, and some more, at random
 * addresses and from random stacks. MEMATTACH_SEED repeats a run (its seed is in the log),
 * MEMATTACH_ROUNDS makes it longer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/unwind/cfi_rule.h"
#include "src/unwind/cfi_rule_publish.h"
#include "tests/unit/rules_follower.h"
#include "tests/unit/stack_maker.h"
#include "tests/unit/unwind_harness.h"

#define MAX_FILES	48u
#define MAX_BYTES	(48 << 20)
#define PLACE		0x7f0000000000ull	/* a file every SPACE bytes */
#define SPACE		(1ull << 32)
#define STACK		0x7ffc00000000ull
#define STACK_WORDS	512u

struct bench {
	char *path[MAX_FILES];
	struct procmap map[MAX_FILES];
	size_t count;
	struct modules *modules;
	struct follower follower;
	uint64_t random;
	uint64_t rounds;
};

/* xorshift */
static uint64_t pick(struct bench *bench, uint64_t below)
{
	bench->random ^= bench->random << 13;
	bench->random ^= bench->random >> 7;
	bench->random ^= bench->random << 17;
	return bench->random % below;
}

/* ---- files ---- */

static void add_file(struct bench *bench, const char *path)
{
	struct stat stat_of;

	if (bench->count == MAX_FILES || stat(path, &stat_of) < 0 ||
	    !S_ISREG(stat_of.st_mode) || stat_of.st_size > MAX_BYTES || access(path, R_OK) < 0)
		return;
	for (size_t i = 0; i < bench->count; i++) {
		if (strcmp(bench->path[i], path) == 0)
			return;
	}
	bench->path[bench->count] = strdup(path);
	assert_non_null(bench->path[bench->count]);
	bench->map[bench->count] = (struct procmap){
		.start = PLACE + SPACE * bench->count, .inode = bench->count + 1,
		.end = PLACE + SPACE * bench->count + (1u << 30),
		.prot = PROCMAP_R | PROCMAP_X, .path = bench->path[bench->count],
	};
	bench->count++;
}

/* Installed ones: others may be rewritten under us. */
static bool is_installed(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0;
}

static void add_mapped(struct bench *bench, const char *process)
{
	struct procmaps maps = { 0 };
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/maps", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (procmaps_read(fd, &maps) == 0) {
		for (size_t i = 0; i < maps.count; i++) {
			if ((maps.map[i].prot & PROCMAP_X) && !maps.map[i].deleted &&
			    is_installed(maps.map[i].path))
				add_file(bench, maps.map[i].path);
		}
		procmaps_done(&maps);
	}
	close(fd);
}

static void add_all(struct bench *bench)
{
	static const char *const more[] = {
		"/usr/bin/python3", "/usr/bin/perl", "/usr/bin/gdb", "/usr/bin/openssl",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "/lib/ld-musl-x86_64.so.1",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	};
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	add_mapped(bench, "self");
	/* Of each kind: no search table, .debug_frame only. */
	add_file(bench, harness_path("unwind_nohdr"));
	add_file(bench, harness_path("unwind_debugframe"));
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		add_file(bench, more[i]);
	while (directory && bench->count < MAX_FILES && (entry = readdir(directory))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_mapped(bench, entry->d_name);
	}
	if (directory)
		closedir(directory);
}

static int open_file(void *context, const struct procmap *map)
{
	const struct bench *bench = context;
	int fd = open(bench->path[map->inode - 1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct module_source source = { .open_file = open_file, .context = bench };
	struct procmaps maps;

	assert_non_null(bench);
	add_all(bench);
	maps = (struct procmaps){ .count = bench->count, .map = bench->map };
	assert_int_equal(modules_new(&source, &bench->modules), 0);
	assert_int_equal(modules_update(bench->modules, &maps), 1);
	assert_true(follower_init(&bench->follower, bench->modules));
	bench->random = number("MEMATTACH_SEED", (uint64_t)time(NULL) * 1000003 + 1) | 1;
	bench->rounds = number("MEMATTACH_ROUNDS", 1);
	print_message("%zu files, MEMATTACH_SEED=%" PRIu64 "\n", bench->count, bench->random);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	follower_done(&bench->follower);
	modules_free(bench->modules);
	for (size_t i = 0; i < bench->count; i++)
		free(bench->path[i]);
	free(bench);
	return 0;
}

/* ---- libdw ---- */

/* Somewhere in the code, and often where a row begins or ends. */
static uint64_t pick_address(struct bench *bench, const struct cfi_table *table)
{
	uint64_t at = pick(bench, table->high - table->low);
	uint32_t row = (uint32_t)pick(bench, table->row_count);

	switch (pick(bench, 4)) {
	case 0:
		at = table->row[row].start;
		break;
	case 1:
		at = row > 0 ? table->row[row].start - 1 : 0;
		break;
	}
	return table->low + at;
}

/* What libdw's rule means for the shim; false: it says nothing that could be compared. */
static bool ask_libdw(struct cfi_rules *rules, const struct module *module, uint64_t address,
		      const struct rules_rule *ours)
{
	struct rules_rule theirs = { .kind = RULES_CUT };
	struct cfi_rule rule;
	int r = cfi_rules_find(rules, module, address, &rule);

	if (r == 0)
		theirs = cfi_rule_publish(&rule);
	if (memcmp(&theirs, ours, sizeof(theirs)) == 0 && (r == 0 || r == -ENOENT))
		return true;
	print_error("%s+%#" PRIx64 ": kind %u base %u flags %u cfa %d rbp %d rbx %d\n"
		    "libdw (%d): kind %u base %u flags %u cfa %d rbp %d rbx %d\n",
		    module->path, address, ours->kind, ours->base, ours->flags, ours->cfa,
		    ours->rbp, ours->rbx, r, theirs.kind, theirs.base, theirs.flags, theirs.cfa,
		    theirs.rbp, theirs.rbx);
	return false;
}

static void same_as_libdw(void **state)
{
	struct bench *bench = *state;
	uint64_t asked = 0, copies = 0;
	struct cfi_rules *rules;

	assert_int_equal(cfi_rules_new(&rules), 0);
	for (uint32_t id = 1; id <= bench->follower.count; id++) {
		const struct cfi_table *table = &bench->follower.table[id - 1];
		const struct module *module = modules_get(bench->modules, id);

		for (uint64_t i = 0; i < 300 * bench->rounds && table->row; i++) {
			uint64_t address = pick_address(bench, table);
			uint32_t rule = cfi_table_find(table, address);

			asked++;
			copies += rule == RULE_SET_COPY;
			if (rule != RULE_SET_COPY)
				assert_true(ask_libdw(rules, module, address,
						      &bench->follower.set.rule[rule]));
		}
	}
	cfi_rules_free(rules);
	print_message("%" PRIu64 " addresses, %" PRIu64 " to be copied\n", asked, copies);
	assert_true(asked > 0 && copies < asked / 2);
}

/* ---- the unwinder ---- */

static uint64_t pick_code(struct bench *bench)
{
	for (;;) {
		uint32_t id = (uint32_t)pick(bench, bench->follower.count) + 1;
		const struct cfi_table *table = &bench->follower.table[id - 1];

		if (table->row)
			return pick_address(bench, table) + 1 +
			       modules_get(bench->modules, id)->bias;
	}
}

static uint64_t pick_word(struct bench *bench)
{
	switch (pick(bench, 8)) {
	case 0:
		return 0;
	case 1:
		return bench->random;
	case 2:
	case 3:
		return STACK + 8 * pick(bench, STACK_WORDS);
	}
	return pick_code(bench);
}

/* Random words; most of them lead on to some code, so that several frames can be left. */
static void same_as_the_unwinder(void **state)
{
	struct bench *bench = *state;
	uint64_t stack[STACK_WORDS];
	struct unwinder *unwinder;

	assert_int_equal(unwinder_new(bench->modules, &unwinder), 0);
	for (uint64_t i = 0; i < 6000 * bench->rounds; i++) {
		struct unwind_input input = {
			.registers = {
				.rip = pick_code(bench), .rsp = STACK + 8 * pick(bench, 64),
				.rbp = STACK + 8 * pick(bench, 128), .rbx = pick_word(bench),
			},
			.stack = (const uint8_t *)stack, .stack_address = STACK,
			.stack_bytes = sizeof(stack), .first_is_return = true,
		};

		for (size_t k = 0; k < STACK_WORDS; k++)
			stack[k] = pick_word(bench);
		if (pick(bench, 4) == 0)
			input.registers.rbp = pick_word(bench);
		assert_true(follower_agrees(&bench->follower, unwinder, &input));
	}
	unwinder_free(unwinder);
	print_message("%" PRIu64 " steps, %" PRIu64 " ended to be copied\n",
		      bench->follower.steps, bench->follower.copies);
	assert_true(bench->follower.steps > 0);
}

/* ---- what the unwinder keeps of what it has read ---- */

static void compare_kept(struct unwinder *unwinder, struct stacks *stacks,
			 const struct unwind_input *input, uint64_t *ret_frames)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	struct stack stack;
	uint32_t count, id;

	assert_int_equal(unwinder_walk(unwinder, input, frame, &count, &end), 0);
	assert_int_equal(unwinder_stack(unwinder, stacks, input, &id), 0);
	stack = stacks_get(stacks, id);
	assert_int_equal(stack.frame_count, count);
	assert_memory_equal(stack.frame, frame, count * sizeof(frame[0]));
	assert_int_equal(stack.flags, end == UNWIND_COMPLETE ? 0 : STACK_TRUNCATED);
	*ret_frames += count;
}

/*
 * Stacks that are new, mostly through code that others led through before: the memo knows few of
 * them, and most rows were read for another one.
 */
static void same_as_without_what_was_kept(void **state)
{
	static struct stack_maker maker;
	struct bench *bench = *state;
	struct unwind_stats stats;
	struct unwinder *unwinder;
	struct stacks *stacks;
	uint64_t frames = 0, made = 0;

	maker.random = bench->random;
	assert_true(stack_maker_init(&maker, &bench->follower, 4));
	assert_int_equal(unwinder_new(bench->modules, &unwinder), 0);
	assert_int_equal(stacks_new(&stacks), 0);
	for (; made < 4000 * bench->rounds; made++) {
		size_t among = pick(bench, 2) ? 2000 : maker.count;
		struct unwind_input input;

		stack_maker_known(&maker, among < maker.count ? among : maker.count,
				  1 + (uint32_t)pick(bench, 40), &input);
		if (pick(bench, 4) == 0)
			input.stack_bytes = pick(bench, input.stack_bytes);
		if (pick(bench, 4) == 0)
			maker.word[pick(bench, 256)] = pick_word(bench);
		compare_kept(unwinder, stacks, &input, &frames);
	}
	unwinder_stats(unwinder, &stats);
	print_message("%" PRIu64 " stacks, %" PRIu64 " frames, %" PRIu64 " from the memo, %" PRIu64
		      " rows were kept, %" PRIu64 " read\n",
		      made, frames, stats.memo_hits, stats.rows_kept, stats.rows_read);
	assert_true(frames > made * 4 && stats.rows_kept > stats.rows_read / 2);
	assert_int_equal(stats.memo_conflicts, 0);
	stacks_free(stacks);
	unwinder_free(unwinder);
	stack_maker_done(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_libdw),
		cmocka_unit_test(same_as_the_unwinder),
		cmocka_unit_test(same_as_without_what_was_kept),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
